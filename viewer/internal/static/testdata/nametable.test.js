// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { dropConditions, given } = await import('../conditions.js');
const { link } = await import('../api.js');
const { namesView, spread, sumRow } = await import('../nametable.js');

test('a histogram in words has the columns with spans', () => {
  assert.equal(spread([1, 0, 2], 20), '1.05 ms to 2.10 ms: 1 span, 4.19 ms to 8.39 ms: 2 spans');
  assert.equal(spread([], 0), '');
});

test('names that are left out have no CPU time of spans below them', () => {
  const cells = (inclusive) => sumRow('omitted', '2 more names', { cpuNs: 5e6, spans: 3 }, inclusive).childNodes.slice(1, 3).map((cell) => cell.textContent);
  assert.deepEqual(cells(false), ['5.00 ms', '5.00 ms']);
  assert.deepEqual(cells(true), ['', '5.00 ms']);
});

test('links keep the conditions of a list, each as often as it is given', () => {
  const kept = given(new URLSearchParams('attribute=a%3D1&attribute=b%3D2&from=17&sort=p95&limit=3&order=cpu&error=true&name='));
  assert.deepEqual(kept, { attribute: ['a=1', 'b=2'], from: '17', error: 'true' });
  assert.equal(link('names', kept), './names?attribute=a%3D1&attribute=b%3D2&from=17&error=true');
  assert.equal(link('', {}), './');
  assert.equal(link('', new URLSearchParams('attribute=a&attribute=b')), './?attribute=a&attribute=b');
});

test('what was found is in a list without other conditions', () => {
  const params = new URLSearchParams('attribute=a&attribute=b&from=17&until=now&order=cpu&error=true&min=1s&by=k');
  const ranged = new URLSearchParams(params);
  dropConditions(params);
  assert.equal(`${params}`, 'order=cpu&by=k');
  dropConditions(ranged, true);
  assert.equal(`${ranged}`, 'from=17&until=now&order=cpu&by=k');
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

test('the next answer is asked for when the rows of the last one are there', () => {
  const frames = [];
  Object.assign(globalThis, { location: { search: '' }, requestAnimationFrame: (f) => frames.push(f), setTimeout: (f) => f() });
  const view = namesView();
  const names = Array.from({ length: 500 }, (_, i) => ({ name: `${i}`, service: 's', spans: 1, errors: 0, cpuNs: 1, cpuInclusiveNs: 1 }));
  view.address();
  let clock = 0;
  Object.defineProperty(performance, 'now', { configurable: true, value: () => clock++ }); // A row takes a millisecond.
  view.update({ names, total: { names: 500, spans: 500, cpuNs: 500 }, omitted: { names: 0 } });
  const polls = () => Array.from({ length: 5 }, () => view.poll()).filter(Boolean).length;
  assert.equal(polls(), 0);
  while (frames.length) frames.shift()();
  assert.equal(polls(), 1);
});
