// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

const listeners = install();
const { follow, h, morph, refill } = await import('../dom.js');

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
    for (const kind of ['scroll', 'theme', 'popstate']) follow(view, kind, () => calls.push(`${kind} ${i}`));
  });
  assert.deepEqual(Object.values(listeners).map((list) => list.length), [1, 1, 1]);
  document.querySelectorAll = (selector) => views.slice(7, 8).filter((view) => view.getAttribute('data-follows').split(' ').includes(/~=(\w+)/.exec(selector)[1]));
  listeners.scroll[0]();
  assert.deepEqual(calls, ['scroll 7']);
});

test('an element that has changed is the same, with what the fresh one has', () => {
  const name = h('a', { class: 'name', title: 'old', href: './' }, 'GET /');
  const old = h('div', null, name, ' and ', h('b', null, '1'), h('i', null, 'gone'));
  const [, words, number] = old.childNodes;
  morph(old, h('div', { role: 'status' }, h('a', { class: 'name', href: './log' }, 'GET /b'), ' or ', h('b', null, '2')));
  assert.equal(old.textContent, 'GET /b or 2');
  assert.deepEqual(old.childNodes, [name, words, number]);
  assert.deepEqual(name.attributes, [{ name: 'class', value: 'name' }, { name: 'href', value: './log' }]);
  assert.equal(old.getAttribute('role'), 'status');
  morph(old, h('div', null, h('a', null, 'GET /b'), ' or ', h('b', null, '2'), h('i', null, 'more')));
  assert.equal(old.textContent, 'GET /b or 2more');
});

test('an element of another kind takes the place', () => {
  const old = h('div', null, h('p', null, 'first'), 'text', h('p', null, 'last'));
  const [first, , last] = old.childNodes;
  const table = h('table');
  morph(old, h('div', null, h('p', null, 'first'), table, h('p', null, 'last')));
  assert.deepEqual(old.childNodes, [first, table, last]);
});

test('what the user has opened stays open, and listeners are those of before', () => {
  const clicked = [];
  const old = h('details', { open: true }, h('button', { onclick: () => clicked.push('old') }));
  morph(old, h('details', null, h('button', { onclick: () => clicked.push('fresh') })));
  assert.ok(old.hasAttribute('open'));
  for (const f of old.childNodes[0].listeners.click) f();
  assert.deepEqual(clicked, ['old']);
  const shut = h('details');
  morph(shut, h('details', { open: true }));
  assert.ok(!shut.hasAttribute('open'));
});

test('a style changes, and not through its attribute', () => {
  const old = h('i');
  const fresh = h('i', { style: 'width: 5px' });
  Object.assign(old.style, { cssText: 'width: 4px' });
  Object.assign(fresh.style, { cssText: 'width: 5px' });
  morph(old, fresh);
  assert.equal(old.style.cssText, 'width: 5px');
  assert.ok(!old.hasAttribute('style'));
});

test('a list keeps what is in both, in the order of the fresh one, and the focus', () => {
  const item = (key, text) => Object.assign(h('li', { 'data-key': key }, text), { isConnected: true });
  const list = h('ul', null, item('a', '1'), item('b', '2'), item('c', '3'));
  const [a, b, c] = list.childNodes;
  c.focus();
  const d = item('d', '4');
  refill(list, [d, item('c', 'three'), item('a', 'one')]);
  assert.deepEqual(list.childNodes, [d, c, a]);
  assert.equal(list.textContent, '4threeone');
  assert.equal(document.activeElement, c);
  // What has gone, and has the focus, does not get it back.
  b.isConnected = c.isConnected = false;
  refill(list, [item('a', 'one')]);
  assert.deepEqual(list.childNodes, [a]);
  assert.equal(document.activeElement, null);
});
