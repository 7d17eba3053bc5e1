// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { button, choice, h } from './dom.js';
import { count, percent, points, shortName, signedPoints } from './format.js';
import { mark } from './frametypes.js';

const FIRST_ROWS = 8;
const share = (part, total) => (total ? part / total : 0);
const BY = {
  total: (d, left, right) => ({ left: share(d.leftTotal, left), right: share(d.rightTotal, right), delta: d.delta }),
  self: (d, left, right) => ({ left: share(d.leftSelf, left), right: share(d.rightSelf, right), delta: d.deltaSelf }),
};

// diffTable lists the functions whose shares differ most, with callees or by themselves,
// those that take more on the right first. search is called with a function's name.
export function diffTable({ left, right, diff, diffOmitted }, search) {
  const halves = h('div', { class: 'halves' });
  const more = button('', () => { shown = Infinity; render(); });
  let by = 'total';
  let shown = FIRST_ROWS;
  const render = () => {
    const rows = diff.map((d) => ({ name: d.name, type: d.type, ...BY[by](d, left.total, right.total) })).filter((d) => d.delta !== 0);
    const most = rows.reduce((m, d) => Math.max(m, Math.abs(d.delta)), 0.0001);
    // The order of the server breaks ties.
    rows.sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
    const signs = [rows.filter((d) => d.delta > 0), rows.filter((d) => d.delta < 0)];
    halves.replaceChildren(half('Takes more on the right', signs[0], shown, most, search), half('Takes less on the right', signs[1], shown, most, search));
    more.hidden = signs.every((rows) => rows.length <= shown);
    more.textContent = `Show all ${count(rows.length, 'function')}`;
  };
  render();
  return h('section', { class: 'card diff' },
    h('div', { class: 'tools' }, h('h2', null, 'Biggest differences'), h('span', { class: 'grow' }), choice('Share', [['total', 'With callees'], ['self', 'Self']], by, (key) => { by = key; render(); })),
    halves,
    left.unit === 'nanoseconds' && h('p', { class: 'muted' }, `With ${count(right.samples, 'sample')} on the right and ${left.samples.toLocaleString('en')} on the left, a change below ${points(noise(left, right))} may be chance.`),
    more, diffOmitted ? h('p', { class: 'muted' }, `${count(diffOmitted, 'function')} with smaller differences left out, each of ${points(Math.min(...diff.map((d) => Math.abs(d.delta))))} at most.`) : null);
}

function half(title, rows, shown, most, search) {
  return h('div', null, h('h3', null, title), rows.length === 0 ? h('p', { class: 'muted' }, 'No function does.')
    : h('table', null,
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Function'), h('th', { scope: 'col', class: 'num' }, 'Left'), h('th', { scope: 'col', class: 'num' }, 'Right'), h('th', { scope: 'col', class: 'num' }, 'Change'), h('th', { class: 'swing', 'aria-hidden': 'true' }))),
      h('tbody', null, rows.slice(0, shown).map((d) => row(d, most, search)))));
}

// noise is two standard errors of the difference between two shares of a half,
// which is the worst case. Heap values have no such simple error.
const noise = (left, right) => Math.min(1, Math.sqrt(1 / Math.max(1, left.samples) + 1 / Math.max(1, right.samples)));

function row(d, most, search) {
  const fill = h('i', { class: d.delta > 0 ? 'more' : 'less' });
  fill.style.width = `max(1px, ${Math.abs(d.delta) / most * 100}%)`;
  return h('tr', null,
    h('td', { class: 'fn' }, mark(d), button(shortName(d.name), () => search(d.name), { class: 'plain', title: d.name })),
    h('td', { class: 'num' }, percent(d.left)),
    h('td', { class: 'num' }, percent(d.right)),
    h('td', { class: `num ${d.delta > 0 ? 'more' : 'less'}` }, signedPoints(d.delta)),
    h('td', { class: 'swing', 'aria-hidden': 'true' }, fill));
}
