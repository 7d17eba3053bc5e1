// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { laneText, started, unplaced } from '../lane.js';

const span = { start: '2026-11-01T12:00:00.0005Z', durationNs: 100e6, cpuNs: 30e6, cpuSamples: 3, cpuTimes: [[20e6, 10e6, 1], [80e6, 10e6, 1]] };

test('a start has parts of a millisecond', () => {
  assert.equal(started(span) - Date.parse('2026-11-01T12:00:00Z'), 0.5);
});

test('a sample stands for the time before it', () => {
  assert.equal(laneText(span), 'on a CPU in 2 parts, between 10.0 ms and 80.0 ms after its start');
  assert.equal(unplaced(span), 10e6);
  assert.equal(laneText({ ...span, cpuTimes: undefined }), '30.0 ms on a CPU; when is not known');
  assert.equal(laneText({ ...span, cpuTimes: [[5e6, 10e6, 1]] }), 'on a CPU between 0 ns and 5.50 ms after its start');
});
