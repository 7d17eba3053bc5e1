// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { graphOf } from './dom.js';
import { Graph, pathID, sibling, topmost, within } from '../graph.js';

const lines = ['0 total 0 10', '1 main.main 0 9', '2 main.serve 1 6', '3 json.Marshal 2 2', '3 main.main 3 3', '2 main.idle 3 3', '1 indexbytebody 1 1'];
const graph = new Graph(graphOf(...lines));
const drawn = (g) => g.frames.map((f) => `${f.depth} ${f.name} ${f.self} ${f.total}`);

test('frames are beside each other, parents first', () => {
  assert.deepEqual(drawn(graph), lines);
  assert.deepEqual(graph.frames.map((f) => f.x), [0, 0, 0, 0, 2, 6, 9]);
  assert.equal(sibling(graph.frames[2], 1).name, 'main.idle');
  assert.equal(sibling(graph.frames[0], 1), undefined);
  assert.ok(within(graph.frames[3], graph.frames[2]) && !within(graph.frames[5], graph.frames[2]));
});

test('a search counts each sample once, and finds assembly by its package', () => {
  const sum = (text) => topmost(graph.frames, graph.find(text));
  assert.deepEqual(['main.', 'MAIN.MAIN', 'asm/pkg.index', 'nobody'].map(sum), [9, 9, 1, 0]);
  assert.equal(graph.find(' '), null);
});

test('the values of a side are of that side', () => {
  const both = graphOf('0 total 0 4', '1 a.a 4 4', '1 b.b 0 0');
  Object.assign(both, { leftSelf: [0, 1, 2], leftTotal: [3, 1, 2] });
  assert.deepEqual(drawn(new Graph(both)), ['0 total 0 4', '1 a.a 4 4']);
  assert.deepEqual(drawn(new Graph(both, 'left')), ['0 total 0 3', '1 a.a 1 1', '1 b.b 2 2']);
  assert.equal(new Graph(both).frames[1].left, 1);
});

test('a stack counts once for a function, at the call nearest to the root', () => {
  const { callers, callees } = graph.focus('main.main');
  assert.deepEqual(drawn(callers), ['0 main.main 0 9']);
  assert.deepEqual(drawn(callees), ['0 main.main 0 9', '1 main.serve 1 6', '2 main.main 3 3', '2 json.Marshal 2 2', '1 main.idle 3 3']);
  const serve = graph.focus('main.serve');
  assert.deepEqual(drawn(serve.callers), ['0 main.serve 0 6', '1 main.main 6 6']);
  assert.deepEqual(serve.callees.frames.map((f) => [f.name, f.self, f.x]), [['main.serve', 1, 0], ['main.main', 3, 0], ['json.Marshal', 2, 3]]);
  assert.equal(graph.focus('nobody').callees.frames[0].total, 0);
});

test('functions have their lines, packages their sums', () => {
  const f = graph.list().find(({ name }) => name === 'json.Marshal');
  assert.deepEqual([f.self, f.file, f.source, f.lines[0]], [2, '/src/json.Marshal.go', 'https://git/json.Marshal.go#L{line}', [7, 2, 2]]);
  assert.deepEqual(graph.packages(), [['main', 7], ['json', 2], ['asm/pkg', 1]]);
});

test('a frame has the id of its path', () => {
  assert.deepEqual([pathID(graph.frames[0]), pathID(graph.frames[1])], ['', 'e18b9613']);
  assert.notEqual(pathID(graph.frames[4]), pathID(graph.frames[1]));
});
