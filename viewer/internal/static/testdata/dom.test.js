// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

const listeners = install();
const { h } = await import('../dom.js');
const { follow } = await import('../listen.js');

test('h leaves out what is not there', () => {
  const el = h('p', { class: null, hidden: false, title: 'a\u202eb' }, 'one', false, null, undefined, 0, [' two', false]);
  assert.equal(el.textContent, 'one0 two');
  assert.equal(el.getAttribute('class'), null);
  assert.equal(el.getAttribute('hidden'), null);
  assert.equal(el.getAttribute('title'), 'a\ufffdb');
  assert.equal(h('b', null, 'x\u2066y').textContent, 'x\ufffdy');
});

test('the window has one listener for all views', () => {
  const calls = [];
  const views = Array.from({ length: 60 }, () => h('div'));
  views.forEach((view, i) => {
    for (const kind of ['scroll', 'theme', 'popstate']) follow(view, kind, () => calls.push(i));
  });
  assert.deepEqual(Object.values(listeners).map((list) => list.length), [1, 1, 1]);
  views[7].isConnected = true;
  listeners.scroll[0]();
  assert.deepEqual(calls, [7]);
});
