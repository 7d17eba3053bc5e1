// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
globalThis.location = { search: '' };
const { ticks } = await import('../strip.js');

const at = (text) => new Date(text).getTime();
const texts = (from, until, width) => ticks(at(from), at(until), width).map((t) => t.text);

test('the axis has round times, as many as have room', () => {
  assert.deepEqual(texts('2026-11-23T07:12:43Z', '2026-11-23T07:24:43Z', 1200), ['07:13', '07:14', '07:15', '07:16', '07:17', '07:18', '07:19', '07:20', '07:21', '07:22', '07:23', '07:24']);
  assert.deepEqual(texts('2026-11-23T07:12:43Z', '2026-11-23T07:24:43Z', 350), ['07:15', '07:20']);
  assert.deepEqual(texts('2026-11-23T07:12:43Z', '2026-11-23T07:13:03Z', 400), ['07:12:45', '07:12:50', '07:12:55', '07:13:00']);
});

test('a day begins with its date', () => {
  assert.deepEqual(texts('2026-11-22T20:00:00Z', '2026-11-23T06:00:00Z', 500), ['20:00', '22:00', '11-23', '02:00', '04:00', '06:00']);
  assert.deepEqual(texts('2026-11-01T20:00:00Z', '2026-11-05T20:00:00Z', 450), ['11-02', '11-03', '11-04', '11-05']);
  assert.ok(ticks(0, 400 * 86400e3, 300).length < 5);
});
