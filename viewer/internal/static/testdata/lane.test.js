// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { laneText, nested, started, unplaced } from '../trace.js';

const span = { start: '2026-11-01T12:00:00.0005Z', durationNs: 100e6, cpuNs: 30e6, cpuSamples: 3, cpuTimes: [[20e6, 10e6, 1], [80e6, 10e6, 1]] };

test('a start has parts of a millisecond', () => {
  assert.equal(started(span) - Date.parse('2026-11-01T12:00:00Z'), 0.5);
});

test('a sample stands for the time before it', () => {
  assert.equal(laneText(span), 'on a CPU in 2 parts, between 10.0 ms and 80.0 ms after its start');
  assert.equal(unplaced(span), 10e6);
  assert.equal(laneText({ ...span, cpuTimes: undefined }), '30.0 ms on a CPU at unknown times');
  assert.equal(laneText({ ...span, cpuTimes: [[5e6, 10e6, 1]] }), 'on a CPU between 0 ns and 5.50 ms after its start');
});

test('what it did after its end is apart', () => {
  assert.equal(laneText({ ...span, afterEnd: { cpuNs: 20e6 } }), 'on a CPU in 2 parts, between 10.0 ms and 80.0 ms after its start, 20.0 ms of CPU time after its end');
  assert.equal(laneText({ start: span.start, durationNs: 1, afterEnd: { cpuNs: 20e6 } }), '20.0 ms of CPU time after its end');
});

test('spans come after the one that they are below', () => {
  const at = (profileId, parentId, ms) => ({ profileId, parentId, start: `2026-11-01T12:00:00.${String(ms).padStart(3, '0')}Z` });
  const depths = (spans) => nested(spans).map(([s, depth]) => s.profileId + depth).join(' ');
  assert.equal(depths([at('b', 'a', 0), at('a', 'remote', 0), at('d', 'c', 3), at('c', 'a', 1), at('e', 'b', 2)]), 'a0 b1 e2 c1 d2');
  assert.equal(depths([at('a', 'b', 0), at('b', 'a', 1), at('c', 'c', 2)]), 'c0 a0 b1');
});
