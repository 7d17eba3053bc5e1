// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { graphOf, install } from './dom.js';

install();
const { heading } = await import('../span.js');
const { callersView, colourLegend, functionsView } = await import('../functions.js');
const { Graph } = await import('../graph.js');

const span = { profileId: 'a', name: 'GET /', start: '2026-11-01T12:00:00Z', durationNs: 8e8, cpuSamples: 1, cpuNs: 1e7, complete: true };
const answer = { sentence: '800 ms: 600 ms mutex.', query: '.wall{}', note: 'it is still running', states: [{ state: 'mutex', ns: 6e8, errorNs: 35e6 }, { state: 'not sampled', ns: 1e8 }] };
const barOf = (more) => heading({ span, answer, samples: 3, query: '.cpu{}', sampleType: 'cpu', ...more }).querySelector('.answer');

test('the answer comes first, its bar has the states in parts of the duration', () => {
  const bar = barOf();
  assert.equal(bar.textContent, '800 ms: 600 ms mutex.mutex 600 ms \u00b1 35.0 ms (75.0 %)not sampled 100 ms (12.5 %)where it waitedIt is still running.');
  const [mutex, blank] = bar.querySelector('.parts').childNodes;
  assert.deepEqual([mutex.style.flexBasis, blank.style.flexBasis], ['75%', '12.5%']);
  assert.ok(mutex.style.background && !blank.style.background);
  assert.doesNotMatch(barOf({ query: '.wall{}' }).textContent, /where it waited/);
  assert.equal(barOf({ answer: { sentence: 'Two samples.', states: [] } }).querySelector('.parts'), null);
  assert.equal(barOf({ answer: undefined }), null);
});

test('the wall time of many spans has its standard error', () => {
  assert.match(heading({ title: '2 spans', query: '.wall{}', measure: 'wall time', unit: 'nanoseconds', total: 1e9, errorNs: 1e8, samples: 3, profileIds: 2, windows: 0 }).textContent, /Wall time1\.00 s \u00b1 100 ms/);
});

const graph = new Graph(graphOf('0 total 0 10', '1 main.serve 4 10', '2 json.Marshal 6 6'));
const data = { unit: 'count', total: 10 };

test('a function has its lines, each with a link to its source', () => {
  const [marshal] = functionsView(data, graph, () => {}).element.querySelectorAll('.lines');
  assert.equal(marshal.textContent, 'line 7 60.0 %');
  assert.equal(marshal.querySelector('a').getAttribute('href'), 'https://git/json.Marshal.go#L7');
});

test('the legend of types needs no values of functions, which hostview leaves out', () => {
  const host = { texts: ['', 'read', 'kernel'], function: [-1, 0], parent: [1, 1], self: [0, 5], total: [5, 5], functions: { name: [1], file: null, type: [2], line: null, self: null, total: null, lines: null } };
  assert.equal(colourLegend({ total: 5, frameTypes: [{ type: 'kernel', self: 5 }] }, { graph: new Graph(host) }).textContent, '[k] Kernel100.0 %');
});

test('functions are in the order of the address, and filtered by it', () => {
  const names = (search) => {
    location.search = search;
    return functionsView(data, graph, () => {}).element.querySelectorAll('.plain').map((b) => b.textContent);
  };
  assert.deepEqual(['', '?sort=total', '?sort=name', '?filter=json'].map(names), [['json.Marshal', 'main.serve'], ['main.serve', 'json.Marshal'], ['json.Marshal', 'main.serve'], ['json.Marshal']]);
  location.search = '';
});

test('a function between its callers and its callees', () => {
  const [view] = callersView(data, graph, 'json.Marshal', () => {});
  assert.match(view.textContent, /Self 6, 60\.0 % of the total \u00b7 with its callees 6, 60\.0 % of the total/);
  assert.deepEqual(view.querySelectorAll('tr').slice(1).map((row) => row.textContent), ['line 7660.0 %660.0 %', 'line 900.00 %110.0 %']);
  assert.match(view.textContent, /No sample has a callee of it\./);
  assert.equal(callersView(data, graph, 'main.gone')[0].textContent, 'No stack of this profile has a function main.gone.');
});
