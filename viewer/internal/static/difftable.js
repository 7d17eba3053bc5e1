// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { remember } from './api.js';
import { button, choice, h } from './dom.js';
import { count, percent, points, shortName, signedPoints, value } from './format.js';
import { mark } from './legends.js';

const FIRST_ROWS = 8;
const WITH = { total: ['leftTotal', 'rightTotal'], self: ['leftSelf', 'rightSelf'] };

// measures returns how the sides can be held against each other: by shares and, where that
// is known, for each span or second. each is what a side is divided by.
export function measures({ left, right }) {
  const seconds = (p) => (p.profiledNs ?? 0) / 1e9;
  const signed = (v) => (v < 0 ? '\u2212' : '+') + value(Math.abs(v), left.unit);
  const amounts = { show: (v) => value(v, left.unit), change: signed };
  return [['share', 'Share', { each: (p) => p.total || 1, show: percent, change: signedPoints }],
    left.ofSpans > 0 && right.ofSpans > 0 && ['span', 'Per span', { each: (p) => p.ofSpans, ...amounts }],
    left.ofSpans !== 1 && right.ofSpans !== 1 && seconds(left) > 0 && seconds(right) > 0 && ['second', 'Per second', { each: seconds, ...amounts }]].filter(Boolean);
}

// differences lists the functions with what they take on each side, and the change, that
// which changes most first.
export function differences({ left, right, diff }, { each }, by) {
  return diff.map((d) => {
    const [a, b] = [d[WITH[by][0]] / each(left), d[WITH[by][1]] / each(right)];
    return { name: d.name, type: d.type, left: a, right: b, delta: b - a };
  }).filter((d) => d.delta !== 0).sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
}

// diffTable lists the functions that differ most, with callees or by themselves, those that
// take more on the right first. names are those of the sides. search is called with a
// function's name.
export function diffTable(data, names, search) {
  const { left, right, diff, diffOmitted } = data;
  const known = measures(data);
  const params = new URLSearchParams(location.search);
  let by = params.get('sort') === 'self' ? 'self' : 'total';
  let measure = known.find(([key]) => key === params.get('per')) ?? known[0];
  let shown = FIRST_ROWS;
  const halves = h('div', { class: 'halves' });
  const noise = h('p', { class: 'muted' });
  const more = button('', () => { shown = Infinity; render(); }, { class: 'cutoff' });
  const render = () => {
    const of = measure[2];
    const rows = differences(data, of, by);
    const most = Math.abs(rows[0]?.delta ?? 1);
    const signs = [rows.filter((d) => d.delta > 0), rows.filter((d) => d.delta < 0)];
    const half = (title, rows) => h('div', null, h('h3', null, title), rows.length === 0 ? h('p', { class: 'muted' }, 'No function does.')
      : h('table', null,
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Function'), names.map((name) => h('th', { scope: 'col', class: 'num cut', title: name }, name)), h('th', { scope: 'col', class: 'num' }, 'Change'), h('th', { class: 'swing', 'aria-hidden': 'true' }))),
        h('tbody', null, rows.slice(0, shown).map((d) => row(d, most, of, search)))));
    halves.replaceChildren(half(`More in ${names[1]}`, signs[0]), half(`Less in ${names[1]}`, signs[1]));
    const chance = measure[0] === 'share' ? points(shareNoise(left, right)) : of.show(2 * Math.hypot(...[left, right].map((p) => p.total / of.each(p) / Math.sqrt(Math.max(1, p.samples)))));
    noise.textContent = left.unit === 'nanoseconds' ? `With ${left.samples.toLocaleString('en')} and ${count(right.samples, 'sample')}, a change below ${chance} may be chance.` : '';
    more.hidden = signs.every((rows) => rows.length <= shown);
    more.textContent = `Show all ${count(rows.length, 'function')}`;
  };
  const pick = () => {
    remember({ sort: by === 'self' && by, per: measure !== known[0] && measure[0] });
    render();
  };
  render();
  return h('section', { class: 'card diff' },
    h('div', { class: 'tools' }, h('h2', null, 'Biggest differences'), h('span', { class: 'grow' }),
      known.length > 1 && choice('Measure', known, measure[0], (key) => { measure = known.find(([k]) => k === key); pick(); }),
      choice('Functions', [['total', 'With callees'], ['self', 'Self']], by, (key) => { by = key; pick(); })),
    halves, noise, more,
    diffOmitted ? h('p', { class: 'muted' }, `${count(diffOmitted, 'function')} whose shares differ less left out, each by ${points(Math.min(...diff.map((d) => Math.abs(d.delta))))} at most.`) : null);
}

// shareNoise is two standard errors of the difference between two shares of a half, which is
// the worst case. Heap values have no such simple error.
const shareNoise = (left, right) => Math.min(1, Math.sqrt(1 / Math.max(1, left.samples) + 1 / Math.max(1, right.samples)));

function row(d, most, of, search) {
  const cls = d.delta > 0 ? 'more' : 'less';
  const fill = h('i', { class: cls });
  fill.style.width = `max(1px, ${Math.abs(d.delta) / most * 100}%)`;
  return h('tr', null,
    h('td', { class: 'fn' }, mark(d), button(shortName(d.name), () => search(d.name), { class: 'plain', title: d.name })),
    [of.show(d.left), of.show(d.right)].map((text) => h('td', { class: 'num' }, text)),
    h('td', { class: `num ${cls}` }, of.change(d.delta)),
    h('td', { class: 'swing', 'aria-hidden': 'true' }, fill));
}
