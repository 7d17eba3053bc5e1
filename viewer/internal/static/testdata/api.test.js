// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { dropConditions } = await import('../api.js');

test('a trace is in a list without other conditions', () => {
  const params = new URLSearchParams('attribute=a&from=17&order=cpu&error=true&min=1s');
  const ranged = new URLSearchParams(params);
  dropConditions(params);
  dropConditions(ranged, true);
  assert.deepEqual([`${params}`, `${ranged}`], ['order=cpu', 'from=17&order=cpu']);
});

test('a frozen page answers itself, and asks no server', async () => {
  const own = document.getElementById;
  document.getElementById = (id) => (id === 'frozen' ? { dataset: { page: './?query=.cpu%7B%7D' }, textContent: JSON.stringify({ './?format=json&query=.cpu%7B%7D': { title: 'one' }, 'timeline?query=.cpu%7B%7D': { title: 'line' } }) } : own(id));
  Object.assign(location, { hash: '', protocol: 'file:' });
  globalThis.fetch = () => assert.fail('the page asked a server');
  const api = await import('../api.js?frozen');
  assert.equal((await api.get(api.asJSON())).title, 'one');
  assert.equal((await api.get(api.link('timeline', { query: '.cpu{}', format: 'json' }))).title, 'line');
  await assert.rejects(api.get('./?query=.wall{}'), /does not have that part/);
  location.hash = '#./comparison?left=1';
  assert.deepEqual([api.pageName(), api.pageParams().get('left'), api.link('', { query: 'a' })], ['comparison', '1', '#./?query=a']);
});
