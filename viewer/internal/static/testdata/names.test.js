// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { namesView, sumRow } = await import('../names.js');

test('names that are left out have no CPU time of spans below them', () => {
  const cells = (inclusive) => sumRow('omitted', '2 more names', { cpuNs: 5e6, spans: 3 }, inclusive).childNodes.slice(1, 3).map((cell) => cell.textContent);
  assert.deepEqual(cells(false), ['5.00 ms', '5.00 ms']);
  assert.deepEqual(cells(true), ['', '5.00 ms']);
});

test('before there are names, the table has no head, and it says what it waits for', () => {
  Object.assign(globalThis, { location: { search: '' } });
  const view = namesView();
  const [card] = view.element.children.filter((e) => e.getAttribute('class') === 'card scroll');
  const status = () => view.element.children.find((e) => e.getAttribute('class') === 'tools').children.find((e) => e.getAttribute('role') === 'status').textContent;
  view.address();
  view.busy(true);
  assert.deepEqual([status(), view.element.getAttribute('aria-busy'), card.hasAttribute('hidden')], ['Summing the spans \u2026', 'true', true]);
  view.update({ names: [], total: { names: 0, spans: 0, cpuNs: 0 }, omitted: { names: 0 } });
  view.busy(false);
  assert.deepEqual([status(), view.element.getAttribute('aria-busy'), card.hidden], ['0 names of 0 spans, 0 ns of CPU time', 'false', false]);
  // The answer that is here is of the same question.
  view.address();
  view.busy(true);
  assert.deepEqual([status(), view.element.getAttribute('aria-busy')], ['0 names of 0 spans, 0 ns of CPU time', 'false']);
});
