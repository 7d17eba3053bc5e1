// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { asJSON, get, isFrozen, link, pageName, pageParams, range, rawQuery } from './api.js';
import { compareView } from './compare.js';
import { h } from './dom.js';
import { sentence } from './format.js';
import { logView } from './log.js';
import { namesView } from './names.js';
import { profileView } from './profile.js';
import { offerRunning, runningView } from './running.js';
import { queryForm } from './span.js';
import { spansView } from './spans.js';
import { showGone, showStatus } from './status.js';

const POLL = 2000;
const main = document.getElementById('main');

// Lists lead to each other with their time. In a frozen page all links are behind the #.
if (isFrozen || !pageParams().get('query')) {
  for (const a of document.querySelectorAll('.pages a, .brand')) {
    const to = a.getAttribute('href').slice(2);
    const aim = () => { a.href = link(to, range()); };
    aim();
    // The time in the address may have been dropped since.
    for (const kind of ['pointerdown', 'click']) a.addEventListener(kind, aim);
  }
}

function start() {
  const page = pageName();
  if (page.startsWith('comparison')) fixedPage((data) => ({ element: compareView(data, page) }), (data) => data.right.span?.service);
  else if (page === 'log') live(logView);
  else if (page === 'names') live(namesView);
  else if (page === 'running') live(runningView);
  else if (page === 'timeline') location.replace(`./?${rawQuery('format').join('&')}`);
  else if (pageParams().get('query')) fixedPage(profileView, (data) => data.span?.service);
  else live(spansView);
}
start();
if (isFrozen) addEventListener('hashchange', start);

addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(input|textarea|select)$/i.test(e.target.tagName)) return;
  const search = document.querySelector('[data-search]');
  if (search) { e.preventDefault(); search.focus(); }
});

// live shows a view that make returns for a function that loads: {element, list, address, update,
// paused, every}. list is marked busy while it shows rows of another question. The page polls at
// each turn of every.
async function live(make) {
  let turn = 0;
  let polls = 0;
  let data = null;
  let answered = ''; // the address of data
  let gone = false;
  const load = async () => {
    // A later request has been answered already: drop this answer.
    const mine = ++turn;
    const address = view.address();
    const same = data && answered === address;
    view.list.setAttribute('aria-busy', String(!same));
    let answer;
    try {
      // The server need not send the same again.
      answer = await get(same && data.generation ? `${address}&since=${data.generation}` : address);
    } catch (err) {
      // The page was true: it stays until the server answers again.
      if (mine === turn) (data && !err.refused ? showGone : showFailure)(err);
      gone = true;
      return;
    }
    if (mine !== turn) return;
    gone = false;
    data = answer.unchanged ? { ...data, status: answer.status } : answer;
    answered = address;
    showService(data.services ? `${data.services.length} services` : data.service);
    showStatus(data.status, load);
    offerRunning(data.status);
    view.update(data);
    view.list.setAttribute('aria-busy', 'false');
    failed = '';
    if (!main.contains(view.element)) main.replaceChildren(view.element);
  };
  const view = make(load);
  main.replaceChildren(view.element);
  await load();
  repeat(() => !data?.fixed && !view.paused?.() && (gone || ++polls % (view.every ?? 1) === 0) && load());
}

// failed is the message of the failure that is shown.
let failed = '';

function showFailure(err) {
  if (err.message !== failed) main.replaceChildren(failure(err));
  failed = err.message;
}

// fixedPage shows the view of make, {element, update}. It polls while samples are on their way.
async function fixedPage(make, service) {
  let more = true;
  let view = null;
  const load = async () => {
    try {
      const data = await get(asJSON());
      showService(service(data));
      showStatus(data.status, load);
      offerRunning(data.status);
      // The user may be typing another query, or look at a part of the graph.
      if (!main.contains(view?.element) || !view.update?.(data)) main.replaceChildren((view = make(data, load)).element);
      more = Boolean(data.waiting || data.status?.running && data.span && !data.span.complete);
      failed = '';
    } catch (err) {
      if (view && !err.refused) return showGone(err);
      showFailure(err);
      view = null;
      more = !err.refused;
    }
  };
  main.replaceChildren(h('p', { class: 'loading muted', role: 'status' }, 'Summing the samples \u2026'));
  await load();
  repeat(() => more && load(), () => more);
}

// repeat calls f while the page can be seen and more() holds.
function repeat(f, more = () => true) {
  const next = async () => {
    if (!document.hidden) await f();
    if (more()) setTimeout(next, POLL);
  };
  if (more() && !isFrozen) setTimeout(next, POLL);
}

function showService(name) {
  const place = document.getElementById('service');
  if (name && place.textContent !== name) place.replaceChildren(h('span', { title: name }, name));
}

// failure shows an error, and its place in the query.
function failure(err) {
  // An error from the server is not a bug of the page.
  if (!err.served) console.error(err);
  const params = pageParams();
  const name = /^(left|right)Query:/.exec(err.message)?.[0].slice(0, -1) ?? 'query';
  const query = params.get(name) ?? '';
  const at = err.column ? [...query].slice(0, err.column - 1).join('').length : -1;
  return h('article', null,
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: link('') }, '\u2190 Spans')),
    query && pageName() === '' && queryForm(query),
    h('section', { class: 'card empty', role: 'alert' },
      h('h2', null, err.column ? 'This query cannot be read' : 'That did not work'),
      at >= 0 && h('pre', null, `${query}\n${' '.repeat(at)}^`),
      h('p', null, sentence(err.message.replace(/\bflameql: /, '')))));
}
