// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { graphOf, install } from './dom.js';

install();
let frames = [];
globalThis.requestAnimationFrame = (f) => frames.push(f);
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
const { Flame } = await import('../flame.js');
const { Graph, pathID } = await import('../graph.js');

const graph = (n) => new Graph(graphOf(`0 total 0 ${10 * n}`, `1 main.serve 0 ${6 * n}`, `2 small.one ${6 * n} ${6 * n}`, `1 main.idle ${4 * n} ${4 * n}`));
const newFlame = (more) => Object.assign(new Flame({ graph: graph(1), unit: 'count', label: 'Test', ...more }), { draw() {} });
const later = () => { while (frames.length) frames.shift()(performance.now() + 1000); };

test('a zoom, and back', () => {
  const flame = newFlame();
  flame.zoom(flame.frames[1]);
  later();
  assert.deepEqual([flame.zoomed.name, flame.view], ['main.serve', [0, 6]]);
  Object.assign(flame.canvas, { getBoundingClientRect: () => ({ left: 0 }) });
  flame.body.getBoundingClientRect = () => ({ top: 0 });
  Object.assign(globalThis, { innerHeight: 1000 });
  flame.showTip = () => {};
  flame.key({ key: 'Escape', preventDefault() {} });
  later();
  assert.deepEqual([flame.zoomed.name, flame.view, flame.focus], ['total', [0, 10], flame.frames[0]]);
});

test('while a span runs, its graph stays zoomed, and grows', () => {
  const flame = newFlame();
  flame.zoom(flame.frames[1]);
  flame.update(graph(2));
  assert.deepEqual([flame.zoomed.name, flame.view], ['main.serve', [0, 12]]);
  assert.match(flame.detail.textContent, /^main\.serve12, 60\.0 % of the total/);
});

test('the search and the zoom of an address, by the names of a graph', () => {
  const zoom = pathID(graph(1).frames[1]);
  location.search = `?zoom=00000000&leftSearch=small&leftZoom=${zoom}00000000`;
  const flame = newFlame({ remembered: ['leftSearch', 'leftZoom'] });
  assert.deepEqual([flame.search.value, flame.zoomed.name], ['small', 'main.serve']);
  assert.equal(flame.found.textContent, '60.0 % of the total (6); 100.0 % of the zoomed frame');
  flame.zoom(flame.frames[0]);
  assert.equal(location.search, '?zoom=00000000&leftSearch=small');
  flame.find('nobody');
  assert.equal(flame.found.textContent, 'no match');
});

test('shares are of the whole, and omitted frames are counted', () => {
  const callers = newFlame({ whole: 100 });
  assert.equal(callers.describe(callers.frames[0])[1], '10, 10.0 % of the total');
  assert.equal(callers.cut.hidden, true);
  callers.update(Object.assign(graph(1), { omitted: 3 }));
  assert.equal(callers.cut.textContent, '3 narrow frames left out: only their callers have their time.');
});
