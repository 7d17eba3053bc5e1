// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, isFrozen, link } from './api.js';
import { h, refill } from './dom.js';
import { count, duration, sentence } from './format.js';

// offerRunning shows the link to this page if the server lists goroutines.
export function offerRunning(status) {
  document.getElementById('running').hidden = isFrozen || !status?.canListRunning;
}

// runningView lists the open local roots with the stacks of their goroutines.
export function runningView() {
  document.title = 'Running now \u00b7 spanprof';
  const note = h('p', { class: 'muted' });
  const none = h('p', { hidden: true }, 'No goroutine carries the labels of a span.');
  const list = h('div');
  const leaks = leaksCard();
  const element = h('article', null,
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: link('') }, '\u2190 Spans'), h('a', { href: './running?format=text' }, 'text'), h('a', { href: './running?format=json' }, 'json')),
    h('h1', null, 'Running now'), note, none, list, leaks.element);

  function update({ roots, note: lacks, leaksLack }) {
    note.textContent = sentence(lacks);
    leaks.offer(leaksLack);
    none.hidden = roots.length > 0;
    refill(list, roots.map(root));
  }
  return { element, list: element, update, address: () => './running?format=json' };
}

// leaksCard offers to find leaked goroutines, and shows them by the name of their span.
function leaksCard() {
  const found = h('div', { role: 'status' });
  const find = h('button', { type: 'button', onclick: async () => {
    find.disabled = true;
    try {
      const { names, note } = await get('./leaks?format=json', 'POST');
      found.replaceChildren(
        h('p', { class: 'muted' }, sentence(note)),
        ...names.length ? names.map(root) : [h('p', null, 'No leaked goroutine was found.')]);
    } catch (err) {
      found.replaceChildren(h('p', { role: 'alert' }, sentence(err.message)));
    }
    find.disabled = false;
  } }, 'Find leaks (costs one garbage collection)');
  const lack = h('p', { class: 'muted' });
  const offer = (lacks) => { find.hidden = Boolean(lacks); lack.textContent = lacks ?? ''; };
  return { element: h('section', null, h('h2', null, 'Leaked goroutines'), lack, find, found), offer };
}

const root = (r) => h('details', { class: 'card', 'data-key': r.profileId ?? r.name },
  h('summary', null, h('h2', null, r.name || r.profileId), h('span', null, r.profileId ? [r.ageNs && `for ${duration(r.ageNs)}`, count(r.goroutines, 'goroutine')].filter(Boolean).join(', ') : `leaked ${count(r.goroutines, 'goroutine')}`)),
  h('p', null, h('a', { href: link('', { query: r.query }) }, 'Its samples')),
  r.stacks.map((s) => h('div', null, h('p', { class: 'muted' }, count(s.goroutines, 'goroutine')), h('pre', null, s.frames.join('\n')))));
