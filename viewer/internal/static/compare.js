// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { fixed, link, parts } from './api.js';
import { copyLink, copyPprof } from './copy.js';
import { h, linkButton } from './dom.js';
import { deltaLegend } from './deltalegend.js';
import { diffTable } from './difftable.js';
import { Flame } from './flame.js';
import { clock, sentence, sources, spanTitle, value } from './format.js';

// compareView compares two profiles: one graph of the right side coloured by change, or
// two graphs.
export function compareView(data, page) {
  const { left, right, diff } = data;
  const both = page === 'comparison';
  const name = right.span ? spanTitle(right.span) : right.title;
  document.title = `Comparison: ${name} \u00b7 spanprof`;
  const deltas = new Map(diff.map((d) => [d.name, { delta: d.delta, left: share(d.leftTotal, left.total), right: share(d.rightTotal, right.total) }]));
  const params = new URLSearchParams(location.search);
  params.delete('format');
  // The left side of an address may be any query.
  const against = left.query === right.baseline?.query;
  const other = both ? 'comparison-diff' : 'comparison';
  const ranged = (a) => ({ query: a.query, ...times(params, a === left ? 'left' : 'right') });
  const children = [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: './' }, '\u2190 Spans'), h('a', { href: link('', ranged(right)) }, 'Flame graph')),
    h('h1', null, h('span', { class: 'clamp', title: name }, `${against ? 'Against its baseline' : 'Comparison'}: ${name}`)),
    h('div', { class: 'sides' }, side('Left', against ? 'baseline' : 'held against', left, ranged(left)), side('Right', right.span ? 'this span' : 'compared', right, ranged(right))),
    h('div', { class: 'actions' },
      linkButton(both ? 'One graph' : 'Two graphs', link(other, params)),
      linkButton('Swap sides', link(page, swapped(params))),
      linkButton('Download pprof', link(page, { ...Object.fromEntries(params), format: 'pprof' }), { download: true, title: 'Right less left, scaled to the same total' }),
      copyPprof(page, { ...Object.fromEntries(params), format: 'pprof' }),
      copyLink(() => link(page, pinned(params, left, right))),
      h('span', { class: 'formats muted' }, ['text', 'json', 'folded'].map((format) => h('a', { href: link(page, { ...Object.fromEntries(params), format }) }, format)))),
    data.note && h('p', { class: 'note' }, sentence(data.note)),
    ...[['left', left], ['right', right]].map(([name, a]) => a.empty && h('p', { class: 'note' }, sentence(`The ${name} side is empty: ${a.empty}`))),
  ];
  const graphs = [];
  const search = (text) => {
    for (const g of graphs) {
      g.search.value = text;
      g.find(text);
    }
    graphs.at(-1)?.element.scrollIntoView({ block: 'nearest' });
  };
  if (!left.empty && !right.empty) children.push(diffTable(data, search));
  const graph = (a, name, coloured) => {
    if (a.empty) return;
    const ask = coloured ? parts({ of: 'right', ...Object.fromEntries(pinned(params, left, right)) }) : parts(ranged(a));
    const flame = new Flame({ ask, root: a.flame, unit: a.unit, label: name, deltas: coloured ? deltas : null, onfunction: (fn) => { location.href = link('', { ...ranged(a), view: 'callers', function: fn }); } });
    graphs.push(flame);
    children.push(h('h2', null, name), flame.element);
  };
  if (both) graph(left, 'Left', false);
  const coloured = !both && !left.empty;
  graph(right, both ? 'Right' : 'Right, coloured by the change of each frame\u2019s share', coloured);
  if (coloured && graphs.length) children.push(deltaLegend(graphs[0].maxDelta));
  return h('article', null, ...children.filter(Boolean));
}

const share = (part, total) => (total ? part / total : 0);

// times is the range of one side, or what the page has for both.
function times(params, name) {
  return Object.fromEntries([['from', 'From'], ['until', 'Until']].map(([k, K]) => [k, params.get(name + K) || params.get(k)]).filter(([, v]) => v));
}

// pinned is the address of the comparison with the times that its sides were found in.
function pinned(params, left, right) {
  const p = new URLSearchParams(params);
  for (const [name, a] of [['left', left], ['right', right]]) {
    if (a.span || a.ranged || !a.windows) continue;
    const { from, until } = fixed(a);
    p.set(`${name}From`, from);
    p.set(`${name}Until`, until);
  }
  return p;
}

function swapped(params) {
  const p = new URLSearchParams(params);
  for (const part of ['Query', 'From', 'Until']) {
    for (const [to, from] of [['left', 'right'], ['right', 'left']]) {
      const v = params.get(from + part);
      if (v == null) p.delete(to + part);
      else p.set(to + part, v);
    }
  }
  return p;
}

function side(name, role, a, address) {
  const each = a.profileIds > 1 ? `, ${value(a.total / a.profileIds, a.unit)} each` : '';
  return h('section', { class: 'card side', 'aria-label': name },
    h('div', { class: 'muted' }, `${name}: ${role}`),
    h('strong', null, value(a.total, a.unit)),
    h('span', { class: 'muted' }, ` ${a.measure} ${sources(a)}${each}`),
    h('a', { class: 'code', href: link('', address), title: a.query }, a.query),
    a.windows > 0 && h('div', { class: 'muted' }, `${clock(a.from)} \u2013 ${clock(a.until)}`),
    a.note && h('p', { class: 'note' }, sentence(a.note)));
}
