// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
document.getElementById = () => document.createElement('div');
globalThis.setInterval = () => {}; // It would keep node running.
const { h } = await import('../dom.js');
const { spanRow } = await import('../spanrow.js');

// Updates keep elements by their places: a link that moved would lose the focus.
test('the link of a row stays in its place when the first span below it has ended', () => {
  const s = { profileId: 'a', name: 'GET /', start: '2026-01-02T03:04:05.000Z', durationNs: 1e9, running: true, cpuNs: 0, cpuInclusiveNs: 0, cpuSamples: 0 };
  const place = (row) => row.childNodes[0].childNodes[0].childNodes.findIndex((c) => c.getAttribute('data-id') === 'a');
  assert.ok(place(spanRow(s, false, false, null)) > 0);
  assert.equal(place(spanRow(s, false, false, null)), place(spanRow(s, false, false, h('button'))));
});

test('a row of a span that failed has the text of its error', () => {
  const s = { profileId: 'a', name: 'GET /', start: '2026-01-02T03:04:05.000Z', durationNs: 1e9, complete: true, coverage: 'whole', cpuNs: 0, cpuInclusiveNs: 0, cpuSamples: 0 };
  const error = (more) => spanRow({ ...s, ...more }, false, false, null).childNodes[0].children.find((e) => e.getAttribute('class') === 'attributes failed');
  const failed = error({ err: true, status: 'card \u202edeclined' });
  assert.equal(failed.textContent, 'card \ufffddeclined');
  assert.equal(failed.getAttribute('title'), 'card \ufffddeclined');
  assert.equal(error({ err: true, status: '' }), undefined);
});
