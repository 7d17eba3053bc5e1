// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { spentBar, waits } = await import('../spent.js');

const spent = { of: '800 ms', ns: 8e8, query: '.wall{}', note: 'it is still running', parts: [{ class: 'mutex', ns: 6e8, errorNs: 35e6 }, { class: 'nobody looked', ns: 2e8 }] };

test('the bar has the parts, the text their errors', () => {
  const bar = spentBar({ spent, query: '.cpu{}' });
  assert.equal(bar.textContent, 'Of 800 ms: mutex 600 ms \u00b1 35.0 ms (75.0 %)nobody looked 200 ms (25.0 %)where it waitedIt is still running.');
  const [mutex, blank] = bar.childNodes[0].childNodes;
  assert.deepEqual([mutex.style.flexGrow, blank.style.flexGrow], [0.75, 0.25]);
  assert.ok(mutex.style.background && !blank.style.background);
  assert.equal(blank.getAttribute('class'), 'blank');
});

test('a page of these very samples has no link to itself', () => {
  assert.doesNotMatch(spentBar({ spent, query: '.wall{}' }).textContent, /where it waited/);
});

test('nothing is said of what is not known', () => {
  assert.equal(spentBar({}), null);
  assert.equal(waits({ waits: [{}], spent }), null);
  assert.equal(waits({}), null);
});

test('the wall time of many spans is told in a line', () => {
  assert.equal(waits({ measure: 'wall time', total: 1e9, errorNs: 1e8, waits: [{ class: 'sleep', ns: 1e9, errorNs: 1e8 }] }).textContent,
    'Wall time 1.00 s \u00b1 100 ms. Spent: sleep 1.00 s \u00b1 100 ms (100.0 %)');
});
