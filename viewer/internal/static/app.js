// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { asJSON, get, rawQuery } from './api.js';
import { compareView } from './compare.js';
import { h } from './dom.js';
import { failure } from './failure.js';
import { morph } from './keep.js';
import { logView } from './logview.js';
import { profileView } from './profile.js';
import { spansView } from './spans.js';
import { showStatus } from './status.js';

const POLL = 2000;
const main = document.getElementById('main');
const params = new URLSearchParams(location.search);
const page = location.pathname.slice(location.pathname.lastIndexOf('/') + 1);

if (page.startsWith('comparison')) once(compareView, (data) => data.right.span?.service);
else if (page === 'log') live(logView());
else if (page === 'timeline') location.replace(`./?${rawQuery('format').join('&')}`);
else if (params.get('query')) profile();
else live(spansView());

addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(input|textarea|select)$/i.test(e.target.tagName)) return;
  const search = document.querySelector('[data-search]');
  if (search) { e.preventDefault(); search.focus(); }
});

// live shows a view that keeps its element and gets new data from time to time:
// {element, address, update, poll, attach}.
async function live(view) {
  let last = null;
  let turn = 0;
  const load = async () => {
    // A later request has been answered already: drop this answer.
    const mine = ++turn;
    const data = await get(view.address());
    if (mine !== turn) return;
    showService(data.services ? `${data.services.length} services` : data.service);
    showStatus(data.status, load);
    view.update(data);
  };
  const quiet = async () => {
    try {
      await load();
      if (last !== '') main.replaceChildren(view.element);
      last = '';
    } catch (err) {
      if (err.message !== last) main.replaceChildren(failure(err));
      last = err.message;
    }
  };
  view.attach(quiet);
  main.replaceChildren(view.element);
  last = '';
  await quiet();
  repeat(() => view.poll() && quiet());
}

// profile shows what a query selects, and polls while samples are on their way.
async function profile() {
  let waiting = false;
  let shown = null;
  const load = async () => {
    const data = await get(asJSON());
    showService(data.span?.service);
    showStatus(data.status, load);
    const view = profileView(data, load);
    // The user may be typing another query.
    if (waiting && data.waiting && main.contains(shown)) morph(shown, view);
    else main.replaceChildren(shown = view);
    waiting = Boolean(data.waiting);
  };
  await attempt(load);
  repeat(() => waiting && attempt(load), () => waiting);
}

async function once(view, service) {
  const load = () => attempt(async () => {
    const data = await get(asJSON());
    showService(service(data));
    showStatus(data.status, load);
    main.replaceChildren(view(data, page));
  });
  await load();
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

function showService(name) {
  if (name) document.getElementById('service').replaceChildren(h('span', { title: name }, name));
}
