// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { h } from './dom.js';
import { capital, duration, percent, sentence } from './format.js';

// COLOURS are those of the classes; what no sample tells of is hatched. exact.css has the same
// for the states of an execution trace.
export const COLOURS = { running: '#e8590c', 'on a CPU': '#e8590c', mutex: '#d6336c', channel: '#1c7ed6', select: '#4dabf7', 'cond or waitgroup': '#9775fa', network: '#0ca678', 'file or syscall': '#a9702c', sleep: '#868e96', GC: '#f2b705', cgo: '#5f3dc4', unknown: '#adb5bd', 'not on a CPU': '#748ffc' };

const amount = (w, of) => `${duration(w.ns)}${w.errorNs > 0 ? ` \u00b1 ${duration(w.errorNs)}` : ''} (${percent(w.ns / of)})`;
const MEANING = 'By the functions at the leaf of each stack; \u00b1 is the standard error, by the number of samples';

// spentBar shows what the time of a span went to, the most first: null where nothing is
// known of it.
export function spentBar({ spent, query }) {
  if (!spent) return null;
  const swatch = (p) => {
    const colour = COLOURS[p.class];
    const i = h('i', { class: colour ? null : 'blank' });
    if (colour) i.style.background = colour;
    return i;
  };
  return h('section', { class: 'spent', 'aria-label': 'Where its time went' },
    h('div', { class: 'parts', 'aria-hidden': 'true' }, spent.parts.map((p) => {
      const i = swatch(p);
      i.style.flexGrow = p.ns / spent.ns;
      return i;
    })),
    h('p', { title: MEANING }, h('b', null, `Of ${spent.of}: `),
      spent.parts.map((p) => h('span', null, swatch(p), `${p.class} ${amount(p, spent.ns)}`)),
      spent.query && spent.query !== query && h('a', { href: link('', { query: spent.query }) }, 'where it waited')),
    spent.note && h('p', { class: 'muted' }, sentence(spent.note)));
}

// waits says what the wall time of more than one span was spent on.
export function waits(data) {
  if (!data.waits?.length || data.spent) return null;
  return h('p', { class: 'muted', title: MEANING },
    data.errorNs > 0 && `${capital(data.measure)} ${duration(data.total)} \u00b1 ${duration(data.errorNs)}. `, 'Spent: ',
    data.waits.map((w) => `${w.class} ${amount(w, data.total)}`).join(', '));
}
