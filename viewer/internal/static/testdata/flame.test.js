// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
globalThis.ResizeObserver = class { observe() {} };
let frames = [];
globalThis.requestAnimationFrame = (f) => frames.push(f);
const { Flame } = await import('../flame.js');

const tree = { name: 'total', total: 10, children: [
  { name: 'main.idle', total: 4 },
  { name: 'main.serve', total: 6, children: [{ name: '(other)', self: 6, total: 6, frames: 7 }] }] };
const part = { path: [{ name: 'total', total: 10 }], flame: { name: 'main.serve', total: 6, children: [{ name: 'small.one', total: 6 }] } };

// answers have come when this has.
const answers = () => new Promise((done) => { setTimeout(done, 0); });

// newFlame returns a graph that is zoomed to what the server has sent.
async function newFlame(ask = async () => part) {
  const flame = new Flame({ root: tree, unit: 'count', label: 'Test', ask });
  flame.draw = () => {};
  flame.zoom(flame.frames.find((f) => f.name === 'main.serve'));
  await answers();
  assert.equal(flame.zoomed.children[0].name, 'small.one');
  assert.deepEqual(flame.view, [0, 6]);
  frames = [];
  return flame;
}

// later lets a second pass.
function later() {
  const at = performance.now() + 1000;
  while (frames.length) frames.shift()(at);
}

test('without a zoom all is seen again', async () => {
  const flame = await newFlame();
  flame.reset.listeners.click[0]();
  later();
  assert.deepEqual([flame.zoomed.name, flame.view], ['total', [0, 10]]);
  assert.ok(flame.frames.includes(flame.zoomed));
});

test('Escape leads to a frame that is drawn', async () => {
  const flame = await newFlame();
  Object.assign(flame.canvas, { getBoundingClientRect: () => ({ left: 0 }) });
  flame.body.getBoundingClientRect = () => ({ top: 0 });
  Object.assign(globalThis, { innerHeight: 1000 });
  flame.showTip = () => {};
  flame.key({ key: 'Escape', preventDefault() {} });
  later();
  assert.deepEqual(flame.view, [0, 10]);
  assert.equal(flame.focus, flame.frames[0]);
});

// twice is a tree whose frames have twice as much.
const twice = (node) => ({ ...node, total: 2 * node.total, ...(node.self && { self: 2 * node.self }), ...(node.children && { children: node.children.map(twice) }) });

test('while a span runs, its graph stays zoomed, and grows', async () => {
  let now = part;
  const asked = [];
  const flame = await newFlame(async (of) => (asked.push(of), now));
  const { zoom } = flame.parts;
  now = { path: part.path.map(twice), flame: twice(part.flame) };
  flame.update(twice(tree));
  await answers();
  assert.deepEqual(asked, [{ search: '', zoom }, { search: '', zoom }]);
  assert.deepEqual([flame.zoomed.name, flame.zoomed.total, flame.view], ['main.serve', 12, [0, 12]]);
  assert.match(flame.detail.textContent, /^main\.serve12, 60\.0 % of the total/);
  // Without a zoom the server need not be asked.
  flame.zoom(flame.frames[0]);
  flame.update(twice(twice(tree)));
  await answers();
  assert.equal(asked.length, 2);
  assert.deepEqual([flame.zoomed.name, flame.view], ['total', [0, 40]]);
});

test('shares are of the total that came with the frames', async () => {
  // The span has had more samples since the page asked for its graph.
  const flame = await newFlame(async () => part);
  flame.parts.ask = async () => ({ path: part.path.map(twice), flame: twice(part.flame) });
  flame.look('small');
  await new Promise((done) => { setTimeout(done, 300); });
  assert.match(flame.detail.textContent, /^main\.serve12, 60\.0 % of the total/);
  // The graph of a function's callers has shares of all.
  const callers = new Flame({ root: tree, unit: 'count', label: 'Test', whole: 100 });
  assert.equal(callers.describe(callers.frames[0])[1], '10, 10.0 % of the total');
});

test('the search and the zoom of an address are asked for, by the names that a graph has there', async () => {
  const { zoom } = (await newFlame()).parts;
  const asked = [];
  const flame = (address, remembered) => {
    globalThis.location = { search: address };
    return new Flame({ root: tree, unit: 'count', label: 'Test', remembered, ask: async (of) => (asked.push(of), of.zoom ? part : { flame: tree }) });
  };
  const left = flame(`?zoom=${'0'.repeat(16)}&leftSearch=small&leftZoom=${zoom}`, ['leftSearch', 'leftZoom']);
  assert.equal(left.element.getAttribute('aria-busy'), 'true');
  await answers();
  assert.deepEqual(asked, [{ search: 'small' }, { search: 'small', zoom }]);
  assert.deepEqual([left.search.value, left.zoomed.name, left.element.getAttribute('aria-busy')], ['small', 'main.serve', 'false']);
  let address = '';
  globalThis.history = { replaceState: (state, title, to) => { address = to; } };
  left.zoom(left.frames[0]);
  assert.equal(address, `?zoom=${'0'.repeat(16)}&leftSearch=small`);
  flame('?leftZoom=1', ['search', 'zoom']);
  await answers();
  assert.equal(asked.length, 2);
});
