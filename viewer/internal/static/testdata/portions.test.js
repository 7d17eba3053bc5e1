// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

const listeners = install();
const { h } = await import('../dom.js');
const { rowsIn } = await import('../portions.js');

// What is to run later, and a clock by which each row takes a millisecond.
let later = [];
let clock = 0;
globalThis.requestAnimationFrame = (f) => later.push(f);
globalThis.setTimeout = (f) => later.push(f);
Object.defineProperty(performance, 'now', { configurable: true, value: () => clock++ });
const run = (n = Infinity) => { for (; n > 0 && later.length; n--) later.shift()(); };

// newList is a list whose rows are texts.
function newList() {
  const list = Object.assign(h('ul'), { isConnected: true });
  const made = [];
  const told = [];
  const rows = rowsIn(list, (element, of) => told.push(of));
  return {
    list, made, told, rows,
    fill: (texts, keys = texts) => rows.fill(texts.map((text, i) => ({ key: keys[i], of: text, make: () => { made.push(text); return h('li', { title: text }, text); } }))),
    shown: () => list.children.map((li) => li.textContent),
    busy: () => list.getAttribute('aria-busy'),
  };
}

const numbered = (n, first = 0) => Array.from({ length: n }, (_, i) => `row ${first + i}`);

test('the first rows come at once, the others in frames', () => {
  const { fill, shown, busy } = newList();
  const all = numbered(200);
  fill(all);
  assert.ok(shown().length >= 24 && shown().length < 50, `${shown().length} rows at once`);
  assert.deepEqual(shown(), all.slice(0, shown().length));
  assert.equal(busy(), 'true');
  const first = shown().length;
  run(2);
  assert.ok(shown().length > first && shown().length < first + 50, `${shown().length} rows after a frame`);
  run();
  assert.deepEqual(shown(), all);
  assert.equal(busy(), 'false');
});

test('a list that is replaced is not finished', () => {
  const { fill, shown, made } = newList();
  fill(numbered(200));
  fill(numbered(30, 1000));
  run();
  assert.deepEqual(shown(), numbered(30, 1000));
  assert.ok(made.length < 100, `${made.length} rows were made`);
});

test('rows that are known are not made anew, and those in another order move', () => {
  const { fill, list, shown, made, told } = newList();
  const all = numbered(100);
  fill(all);
  run();
  const elements = new Set(list.children);
  made.length = told.length = 0;
  fill(['new', ...[...all].reverse()]);
  // Those whose turn has not come are where they were.
  assert.equal(shown().length, 101);
  run();
  assert.deepEqual(shown(), ['new', ...[...all].reverse()]);
  assert.deepEqual(made, ['new']);
  assert.equal(told.length, 101);
  assert.equal(list.children.filter((li) => elements.has(li)).length, 100);
});

test('all rows are there before the page is printed', () => {
  const { fill, shown, busy } = newList();
  fill(numbered(500));
  listeners.beforeprint[0]();
  assert.deepEqual(shown(), numbered(500));
  assert.equal(busy(), 'false');
  run();
  assert.deepEqual(shown(), numbered(500));
});

test('a list whose rows are all others is as long as before, until they are there', () => {
  const { fill, shown, busy } = newList();
  fill(numbered(200));
  run();
  fill(numbered(200, 1000));
  let before = 0;
  for (; busy() === 'true'; run(1)) {
    assert.equal(shown().length, 200);
    const fresh = shown().findIndex((text) => !numbered(200, 1000).includes(text));
    assert.ok(fresh >= before);
    // The old rows below them are the first of all.
    assert.deepEqual(shown().slice(fresh), numbered(200 - fresh));
    before = fresh;
  }
  assert.deepEqual(shown(), numbered(200, 1000));
  fill(numbered(10, 1100));
  assert.deepEqual(shown(), numbered(10, 1100));
});

test('rows that answer another question do not stay', () => {
  const { rows, fill, shown } = newList();
  fill(numbered(200));
  run();
  rows.fill([...numbered(100, 1000), 'row 7'].map((text) => ({ key: text, of: text, make: () => h('li', null, text) })), true);
  assert.deepEqual(shown().filter((text) => numbered(200).includes(text)), ['row 7']);
});
