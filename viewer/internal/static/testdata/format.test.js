// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { ago, bareName, count, percent, pkg, points, sentence, shortName, signedPoints, time, value } from '../format.js';

test('values have three digits and a unit', () => {
  for (const [v, unit, want] of [
    [0, 'nanoseconds', '0 ns'], [999, 'nanoseconds', '999 ns'], [1500, 'nanoseconds', '1.50 µs'], [12_345_678, 'nanoseconds', '12.3 ms'],
    [123_456_789, 'nanoseconds', '123 ms'], [90e9, 'nanoseconds', '90.0 s'], [-1500, 'nanoseconds', '-1.50 µs'],
    [1024, 'bytes', '1.00 KiB'], [5 * 2 ** 40, 'bytes', '5.00 TiB'], [1_234_567, 'count', '1,234,567'],
  ]) assert.equal(value(v, unit), want);
});

test('times of day have milliseconds', () => {
  assert.equal(time(new Date(2026, 0, 2, 3, 4, 5, 6)), '03:04:05.006');
  assert.equal(time(new Date(2026, 0, 2, 23, 59, 59, 999)), '23:59:59.999');
});

test('shares and their differences', () => {
  assert.equal(percent(0.00291), '0.29 %');
  assert.equal(percent(0.41), '41.0 %');
  assert.equal(points(-0.005), '0.50 pp');
  assert.equal(signedPoints(0.123), '+12.3 pp');
  assert.equal(signedPoints(-0.123), '\u221212.3 pp');
  assert.equal(signedPoints(0), '0.00 pp');
});

test('packages of functions', () => {
  for (const [name, want] of [
    ['runtime.mallocgc', 'runtime'], ['net/http.(*conn).serve', 'net/http'], ['example.com/a.b/c.F', 'example.com/a.b/c'],
    ['slices.SortFunc[go.shape.[]example.com/x.T]', 'slices'], ['indexbytebody', ''], ['memcpy', ''],
  ]) assert.equal(pkg(name), want, name);
  assert.equal(shortName('example.com/shop/cart.(*Cart).Add'), 'cart.(*Cart).Add');
  assert.equal(shortName('indexbytebody'), 'indexbytebody');
  assert.equal(bareName('cart.(*Cart).Add.func1'), 'Add.func1');
  assert.equal(bareName('slices.SortFunc[int]'), 'SortFunc');
});

test('words', () => {
  assert.equal(count(1, 'span'), '1 span');
  assert.equal(count(1200, 'span'), '1,200 spans');
  assert.equal(sentence('no span'), 'No span.');
  assert.equal(sentence('Why?'), 'Why?');
  const now = new Date('2026-11-01T12:00:00Z');
  assert.equal(ago(now, now), 'now');
  assert.equal(ago(new Date(now - 90e3), now), '1 min ago');
  assert.equal(ago(new Date(+now + 5000), now), 'now'); // a clock that is ahead
});
