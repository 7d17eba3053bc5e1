// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { graphOf, install } from './dom.js';

install();
const { compareView, differences, measures, sideNames } = await import('../compare.js');

const left = { unit: 'nanoseconds', total: 600e6, ofSpans: 3, samples: 60, windows: 1, from: '2026-11-01T12:00:00Z', until: '2026-11-01T12:00:10Z' };
const right = { unit: 'nanoseconds', total: 100e6, ofSpans: 1, samples: 10, span: { start: '2026-11-01T12:00:01.25Z' } };
const diff = [{ name: 'main.a', leftTotal: 300e6, rightTotal: 90e6, leftSelf: 0, rightSelf: 5e6 }, { name: 'main.b', leftTotal: 300e6, rightTotal: 10e6, leftSelf: 60e6, rightSelf: 20e6 }];
const keys = (data) => measures(data).map(([key]) => key);

test('what a function takes more for each span is not what its share is', () => {
  const data = { left, right, diff };
  const [[, , share], [, , span]] = measures(data);
  assert.deepEqual(differences(data, share, 'total').map((d) => [d.name, Math.round(100 * d.delta)]), [['main.a', 40], ['main.b', -40]]);
  assert.deepEqual(differences(data, span, 'total').map((d) => [d.name, d.delta]), [['main.b', -90e6], ['main.a', -10e6]]);
  assert.deepEqual(differences(data, span, 'self').map((d) => [d.name, d.left, d.right, d.delta]), [['main.a', 0, 5e6, 5e6]]);
  assert.equal(span.change(-90e6), '\u221290.0 ms');
  assert.equal(span.change(5e6), '+5.00 ms');
});

test('a measure is offered where both sides have it', () => {
  assert.deepEqual(keys({ left, right }), ['share', 'span']);
  assert.deepEqual(keys({ left: { ...left, ofSpans: undefined }, right }), ['share']);
});

test('sides are called what they are', () => {
  assert.deepEqual(sideNames({ left, right, leftName: 'all 3 spans of this name', rightName: 'GET /' }), ['All 3 spans of this name', 'GET / at 12:00:01.250']);
  assert.deepEqual(sideNames({ left: { ...left, title: 'shop version v1' }, right, leftName: 'shop version v1', rightName: 'this span' }), ['shop version v1', 'This span at 12:00:01.250']);
  const later = { ...left, from: '2026-11-01T13:00:00Z', until: '2026-11-01T13:00:10Z' };
  assert.deepEqual(sideNames({ left, right: later, leftName: 'GET /', rightName: 'GET /' }), ['GET /, 2026-11-01 12:00:00 \u2013 2026-11-01 12:00:10', 'GET /, 2026-11-01 13:00:00 \u2013 2026-11-01 13:00:10']);
});

test('each graph has the frames of its side, its search and its zoom', () => {
  location.search = '?leftQuery=a&rightQuery=b&search=main.b&leftSearch=main.a';
  const flame = { ...graphOf('0 total 0 4', '1 main.b 4 4', '1 main.a 0 0'), leftSelf: [0, 0, 6], leftTotal: [6, 0, 6] };
  const of = (side, query) => ({ ...side, title: query, span: undefined, from: left.from, until: left.until, query, measure: 'CPU time' });
  const page = compareView({ left: of(left, 'a'), right: of(right, 'b'), leftName: 'a', rightName: 'b', flame, diff: [] }, 'comparison');
  assert.deepEqual(page.querySelectorAll('.found').map((e) => e.textContent), ['100.0 % of the total (6.00 ns)', '100.0 % of the total (4.00 ns)'].map((t) => t.replace('.00', '')));
});
