// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h, link } from './dom.js';
import { deltaColour, Flame } from './flame.js';
import { count, percent, points, sentence, shortName, signedPoints, sources, spanTitle, value } from './format.js';

const FIRST_ROWS = 12;

// compareView holds two profiles against each other: as one graph of the right
// side in colours of change, or as two graphs.
export function compareView(data, both) {
  const { left, right, diff } = data;
  document.title = 'Comparison \u00b7 spanprof';
  const deltas = new Map(diff.map((d) => [d.name, { delta: d.delta, left: share(d.leftTotal, left.total), right: share(d.rightTotal, right.total) }]));
  const params = new URLSearchParams(location.search);
  params.delete('format');
  const swapped = new URLSearchParams(params);
  for (const part of ['Query', 'From', 'Until']) {
    for (const [to, from] of [['left', 'right'], ['right', 'left']]) {
      const v = params.get(from + part);
      if (v == null) swapped.delete(to + part);
      else swapped.set(to + part, v);
    }
  }
  const name = right.span ? spanTitle(right.span) : right.title;
  // The left side of an address is whatever its maker put there.
  const against = left.query === right.baseline?.query;
  const parts = [
    h('nav', { class: 'crumbs' }, h('a', { href: './' }, '\u2190 Spans'), h('a', { href: link('', { query: right.query }) }, 'Flame graph')),
    h('h1', null, h('span', { class: 'clamp', title: name }, `${against ? 'Against its baseline' : 'Comparison'}: ${name}`)),
    h('div', { class: 'sides' }, side('Left', against ? 'baseline' : 'held against', left), side('Right', right.span ? 'this span' : 'compared', right)),
    h('div', { class: 'actions' },
      h('a', { class: 'button', href: link(both ? 'comparison-diff' : 'comparison', params) }, both ? 'One graph' : 'Two graphs'),
      h('a', { class: 'button', href: link(both ? 'comparison' : 'comparison-diff', swapped) }, 'Swap sides'),
      h('a', { class: 'button', href: link(both ? 'comparison' : 'comparison-diff', { ...Object.fromEntries(params), format: 'text' }) }, 'Text'),
      h('a', { class: 'button', href: link(both ? 'comparison' : 'comparison-diff', { ...Object.fromEntries(params), format: 'json' }) }, 'JSON')),
  ];
  if (left.empty || right.empty) {
    for (const [name, a] of [['left', left], ['right', right]]) {
      if (a.empty) parts.push(h('p', { class: 'note' }, sentence(`The ${name} side is empty: ${a.empty}`)));
    }
  }
  const graphs = [];
  const search = (text) => {
    for (const g of graphs) {
      g.search.value = text;
      g.find(text);
    }
    graphs.at(-1)?.element.scrollIntoView({ block: 'nearest' });
  };
  if (!left.empty && !right.empty) parts.push(diffTable(data, search));
  const graph = (a, name, coloured) => {
    if (a.empty) return;
    const flame = new Flame({ root: a.flame, unit: a.unit, label: name, deltas: coloured ? deltas : null });
    graphs.push(flame);
    parts.push(h('h2', null, name), flame.element);
  };
  if (both) graph(left, 'Left', false);
  const coloured = !both && !left.empty;
  graph(right, both ? 'Right' : 'Right, coloured by the change of each function\u2019s share', coloured);
  if (coloured && graphs.length) parts.push(legend(graphs[0].maxDelta));
  return h('article', null, ...parts);
}

const share = (part, total) => (total ? part / total : 0);

function side(name, role, a) {
  const each = a.profileIds > 1 ? `, ${value(a.total / a.profileIds, a.unit)} each` : '';
  return h('section', { class: 'card side', 'aria-label': name },
    h('div', { class: 'muted' }, `${name}: ${role}`),
    h('strong', null, value(a.total, a.unit)),
    h('span', { class: 'muted' }, ` ${a.measure} ${sources(a)}${each}`),
    h('a', { class: 'code', href: link('', { query: a.query }), title: a.query }, a.query),
    a.note && h('p', { class: 'note' }, a.note));
}

function diffTable({ left, right, diff, diffOmitted }, search) {
  const changed = diff.filter((d) => d.delta !== 0)
    .map((d) => ({ ...d, left: share(d.leftTotal, left.total), right: share(d.rightTotal, right.total) }));
  const most = Math.max(0.0001, ...changed.map((d) => Math.abs(d.delta)));
  const body = h('tbody');
  const more = h('button', { type: 'button' });
  const show = (n) => {
    body.replaceChildren(...changed.slice(0, n).map((d) => row(d, most, search)));
    more.hidden = changed.length <= n;
    more.textContent = `Show all ${count(changed.length, 'function')}`;
  };
  more.addEventListener('click', () => show(changed.length));
  show(FIRST_ROWS);
  return h('section', { class: 'card diff' },
    h('h2', null, 'Biggest differences'),
    changed.length === 0 ? h('p', null, 'No function takes another share on the right than on the left.')
      : h('table', null,
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Function'), h('th', { scope: 'col', class: 'num' }, 'Left'), h('th', { scope: 'col', class: 'num' }, 'Right'), h('th', { scope: 'col', class: 'num' }, 'Change'), h('th', { class: 'swing', 'aria-hidden': 'true' }))),
        body),
    changed.length > 0 && left.unit === 'nanoseconds' && h('p', { class: 'muted' }, `With ${count(right.samples, 'sample')} on the right and ${left.samples.toLocaleString('en')} on the left, a change below ${points(noise(left, right))} may be chance.`),
    more, diffOmitted ? h('p', { class: 'muted' }, `${count(diffOmitted, 'function')} with smaller differences left out.`) : null);
}

// noise is two standard errors of the difference between two shares of a half,
// which is the worst case. Heap values have no such simple error.
const noise = (left, right) => Math.min(1, Math.sqrt(1 / Math.max(1, left.samples) + 1 / Math.max(1, right.samples)));

function row(d, most, search) {
  const fill = h('i', { class: d.delta > 0 ? 'more' : 'less' });
  fill.style.width = `${Math.abs(d.delta) / most * 50}%`;
  return h('tr', null,
    h('td', { class: 'fn' }, h('button', { type: 'button', class: 'plain', title: d.name, onclick: () => search(d.name) }, shortName(d.name))),
    h('td', { class: 'num' }, percent(d.left)),
    h('td', { class: 'num' }, percent(d.right)),
    h('td', { class: `num ${d.delta > 0 ? 'more' : 'less'}` }, signedPoints(d.delta)),
    h('td', { class: 'swing', 'aria-hidden': 'true' }, h('span', null, fill)));
}

function legend(max) {
  const dark = getComputedStyle(document.documentElement).getPropertyValue('--dark').trim() === '1';
  const steps = [-1, -0.66, -0.33, 0, 0.33, 0.66, 1].map((t) => {
    const box = h('i');
    box.style.background = deltaColour(t, dark);
    return box;
  });
  return h('p', { class: 'muted legend' }, `${signedPoints(-max)} `, h('span', { class: 'scale' }, steps), ` ${signedPoints(max)} (percentage points) of the total, right against left. Red takes more than the baseline, blue less.`);
}
