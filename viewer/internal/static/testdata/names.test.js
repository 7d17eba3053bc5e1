// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { sumRow } = await import('../names.js');

test('names that are left out have no CPU time of spans below them', () => {
  const cells = (inclusive) => sumRow('omitted', '2 more names', { cpuNs: 5e6, spans: 3 }, inclusive).childNodes.slice(1, 3).map((cell) => cell.textContent);
  assert.deepEqual(cells(false), ['5.00 ms', '5.00 ms']);
  assert.deepEqual(cells(true), ['', '5.00 ms']);
});
