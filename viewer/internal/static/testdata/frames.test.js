// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { FlameParts, flatten, isCut, pathID, rooted, sibling, within } from '../flameparts.js';

const tree = { name: 'total', total: 10, children: [
  { name: 'main.main', total: 9, children: [
    { name: 'main.serve', self: 1, total: 6, children: [{ name: 'json.Marshal', self: 2, total: 2 }, { name: '(other)', self: 3, total: 3, frames: 7 }] },
    { name: 'main.idle', self: 3, total: 3 }] },
  { name: 'indexbytebody', self: 1, total: 1 }] };
const named = (frames, name) => frames.find((f) => f.name === name);

test('frames are beside each other, parents first', () => {
  const frames = flatten(tree);
  assert.deepEqual(frames.map((f) => [f.name, f.x, f.depth]), [['total', 0, 0], ['main.main', 0, 1], ['main.serve', 0, 2], ['json.Marshal', 0, 3], ['(other)', 2, 3], ['main.idle', 6, 2], ['indexbytebody', 9, 1]]);
  assert.equal(sibling(frames[2], 1).name, 'main.idle');
  assert.equal(sibling(frames[0], 1), undefined);
  assert.ok(within(frames[3], frames[2]) && !within(frames[5], frames[2]));
  assert.ok(isCut(frames[2]) && !isCut(frames[5]));
});

// The server makes the same ids: TestGraphPart has these functions too.
test('a frame has the path id that the server knows', () => {
  const frames = flatten({ name: 'total', total: 1, children: [{ name: 'main.main', total: 1, children: [{ name: 'main.\u00fc', total: 1, type: 'go' }] }] });
  assert.equal(pathID(frames[0]), '');
  assert.equal(pathID(frames[1]), 'e18b96135d377e88');
  assert.equal(pathID(frames[2]), 'b02e41a5e259f668');
});

test('a part has its callers around it, and what these take besides', () => {
  const frames = flatten(rooted({
    path: [{ name: 'total', total: 10, match: 5 }, { name: 'main.main', total: 9, match: 4 }],
    flame: { name: 'main.serve', total: 6, match: 3, children: [{ name: 'json.Marshal', total: 6, match: 3 }] },
  }));
  assert.deepEqual(frames.map((f) => [f.name, f.x, f.total, f.match]), [['total', 0, 10, 5], ['main.main', 0, 9, 4], ['main.serve', 0, 6, 3], ['json.Marshal', 0, 6, 3], ['(other)', 6, 3, 1], ['(other)', 9, 1, 1]]);
});

const settled = () => new Promise((done) => { setTimeout(done, 0); });

test('a search without a server counts each sample once', () => {
  const parts = new FlameParts({ given: tree, unit: 'count', changed() {} });
  parts.search('main.');
  assert.equal(parts.found(), '90.0 % of the total (9)');
  parts.search('nobody');
  assert.equal(parts.found(), 'no match');
  parts.search('');
  assert.equal(parts.found(), '');
});

test('a search by package finds assembly', () => {
  const parts = new FlameParts({ given: tree, unit: 'count', functions: new Map([['indexbytebody', { package: 'internal/bytealg' }]]), changed() {} });
  parts.search('bytealg.');
  assert.equal(parts.found(), '10.0 % of the total (1)');
});

test('a zoom asks for what was cut, and only for that', async () => {
  const asked = [];
  const parts = new FlameParts({ given: tree, unit: 'count', changed() {}, async ask(params) {
    asked.push(params);
    return { path: [{ name: 'total', total: 10 }, { name: 'main.main', total: 9 }], flame: { name: 'main.serve', total: 6, children: [{ name: 'json.Marshal', total: 2 }, { name: 'small.one', total: 3 }] } };
  } });
  assert.match(parts.cut(), /^7 frames too narrow to draw are summed as \(other\): 30\.0 % of what is shown \(3\)\./);
  parts.zoomTo(named(parts.frames, 'main.idle'));
  assert.deepEqual(asked, []);
  const serve = named(parts.frames, 'main.serve');
  const id = pathID(serve);
  parts.zoomTo(serve);
  await settled();
  assert.deepEqual(asked, [{ search: '', zoom: id }]);
  assert.equal(parts.zoomed.name, 'main.serve');
  assert.ok(named(parts.frames, 'small.one'));
  assert.equal(parts.cut(), '');
  parts.zoomTo(parts.frames[0]);
  await settled();
  assert.equal(named(parts.frames, 'small.one'), undefined);
  assert.equal(parts.zoomed, parts.frames[0]);
});

test('an answer that nobody waits for any more is dropped', async () => {
  const answers = [];
  const parts = new FlameParts({ given: tree, unit: 'count', changed() {}, ask: ({ search }, signal) => new Promise((answer, fail) => {
    signal.addEventListener('abort', () => fail(new Error('aborted')));
    answers.push([search, answer]);
  }) });
  parts.text = 'first';
  parts.refresh(0);
  await settled();
  parts.text = 'second';
  parts.refresh(0);
  await settled();
  assert.equal(parts.found(), 'searching \u2026');
  assert.deepEqual(answers.map(([search]) => search), ['first', 'second']);
  answers[1][1]({ flame: { ...tree, match: 4 } });
  await settled();
  assert.equal(parts.found(), '40.0 % of the total (4)');
});

test('an error of the server is told', async () => {
  const parts = new FlameParts({ given: tree, unit: 'count', changed() {}, ask: () => Promise.reject(new Error('out of turn')) });
  parts.text = 'x';
  await parts.refresh(0);
  assert.equal(parts.found(), 'search failed: out of turn');
});

test('an answer on its way does not undo a zoom', async () => {
  const answers = [];
  const parts = new FlameParts({ given: tree, unit: 'count', changed() {}, ask: ({ zoom }) => new Promise((answer) => { answers.push([zoom, answer]); }) });
  const part = { path: [{ name: 'total', total: 10 }, { name: 'main.main', total: 9 }], flame: { name: 'main.serve', total: 6 } };
  parts.zoomTo(named(parts.frames, 'main.serve'));
  parts.zoomTo(parts.frames[0]);
  answers.shift()[1](part);
  await settled();
  assert.deepEqual([parts.zoomed.name, parts.pending], ['total', false]);
  parts.zoomTo(named(parts.frames, 'main.serve'));
  parts.zoomTo(named(parts.frames, 'main.idle'));
  answers.shift()[1](part);
  await settled();
  assert.equal(parts.zoomed.name, 'main.idle');
});

test('a zoom that the graph no longer has is dropped, and the search is not', async () => {
  const asked = [];
  const parts = new FlameParts({ given: tree, unit: 'count', changed() {}, async ask({ search, zoom }) {
    asked.push([search, zoom]);
    if (zoom) throw Object.assign(new Error('zoom: no frame has that path'), { refused: true });
    return { flame: { name: 'total', total: 10, match: 4, children: [] } };
  } });
  Object.assign(parts, { text: 'small', zoom: 'e18b96135d377e88' });
  await parts.refresh(0);
  assert.equal(parts.found(), '40.0 % of the total (4); zoom: no frame has that path');
  assert.deepEqual([parts.zoom, parts.zoomed.name, parts.pending], ['', 'total', false]);
  // Without a search the graph is that of the page.
  Object.assign(parts, { text: '', zoom: 'e18b96135d377e88' });
  await parts.refresh(0);
  assert.deepEqual([parts.found(), parts.zoom, parts.frames.length], ['zoom: no frame has that path', '', 7]);
  // Of a server that is away nothing is known.
  parts.ask = async () => { throw new Error('away'); };
  parts.zoom = 'e18b96135d377e88';
  await parts.refresh(0);
  assert.deepEqual([parts.found(), parts.zoom], ['away', 'e18b96135d377e88']);
});
