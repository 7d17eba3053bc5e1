// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { compareView } from './compare.js';
import { h, rawQuery } from './dom.js';
import { sentence } from './format.js';
import { profileView, queryForm } from './profile.js';
import { spansView } from './spans.js';
import { showStatus } from './status.js';

const POLL = 2000;
const main = document.getElementById('main');
const params = new URLSearchParams(location.search);
const page = location.pathname.slice(location.pathname.lastIndexOf('/') + 1);

if (page.startsWith('comparison')) comparison();
else if (params.get('query')) profile();
else spans();

addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(input|textarea)$/i.test(e.target.tagName)) return;
  const search = document.querySelector('[data-search]');
  if (search) { e.preventDefault(); search.focus(); }
});

async function spans() {
  const view = spansView(() => load());
  let last = '';
  main.replaceChildren(view.element);
  const load = async () => {
    const data = await get(view.address());
    showService(data.service);
    showStatus(data.status, load);
    view.update(data);
  };
  const quiet = async () => {
    try {
      await load();
      if (last) main.replaceChildren(view.element);
      last = '';
    } catch (err) {
      if (err.message !== last) main.replaceChildren(failure(err));
      last = err.message;
    }
  };
  await quiet();
  repeat(() => view.poll() && quiet());
}

async function profile() {
  let waiting = false;
  const load = async () => {
    const data = await get(asJSON());
    showService(data.span?.service);
    showStatus(data.status, load);
    main.replaceChildren(profileView(data, load));
    waiting = Boolean(data.waiting);
  };
  await attempt(load);
  repeat(() => waiting && attempt(load), () => waiting);
}

async function comparison() {
  await attempt(async () => {
    const data = await get(asJSON());
    showService(data.right.span?.service);
    showStatus(data.status, comparison);
    main.replaceChildren(compareView(data, page === 'comparison'));
  });
}

async function attempt(load) {
  try {
    await load();
  } catch (err) {
    main.replaceChildren(failure(err));
  }
}

// repeat calls f while the page can be seen and more() holds.
function repeat(f, more = () => true) {
  const next = async () => {
    if (!document.hidden) await f();
    if (more()) setTimeout(next, POLL);
  };
  if (more()) setTimeout(next, POLL);
}

function asJSON() {
  return `${location.pathname}?${[...rawQuery('format'), 'format=json'].join('&')}`;
}

async function get(address) {
  const answer = await fetch(address, { headers: { Accept: 'application/json' } });
  const text = await answer.text();
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `the server answered ${answer.status}`);
  }
  if (!answer.ok) throw Object.assign(new Error(data.error), { column: data.column });
  return data;
}

function failure(err) {
  const query = params.get('query') ?? '';
  const at = err.column && page === '' ? new TextDecoder().decode(new TextEncoder().encode(query).slice(0, err.column - 1)).length : -1;
  return h('article', null,
    h('nav', { class: 'crumbs' }, h('a', { href: './' }, '\u2190 Spans')),
    query && page === '' && queryForm(query, params),
    h('section', { class: 'card empty', role: 'alert' },
      h('h2', null, err.column ? 'This query cannot be read' : 'That did not work'),
      at >= 0 && h('pre', null, `${query}\n${' '.repeat(at)}^`),
      h('p', null, sentence(err.message))));
}

function showService(name) {
  if (name) document.getElementById('service').textContent = name;
}
