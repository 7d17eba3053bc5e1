// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { fixed, link, parts } from './api.js';
import { deltaColour, theme } from './colours.js';
import { copyLink, copyPprof } from './copy.js';
import { h, linkButton } from './dom.js';
import { diffTable } from './difftable.js';
import { Flame } from './flame.js';
import { capital, clock, sentence, signedPoints, sources, spanTitle, time, value } from './format.js';
import { follow } from './listen.js';

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
  const ranged = (a, p = params) => ({ query: a.query, ...times(p, a === left ? 'left' : 'right') });
  // A graph asks in the times that its side was found in: what it says is of that whole.
  const found = pinned(params, left, right);
  const names = sideNames(data);
  const children = [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: './' }, '\u2190 Spans'), h('a', { href: link('', ranged(right)) }, 'Flame graph')),
    h('h1', null, h('span', { class: 'clamp', title: name }, `${against ? 'Against its baseline' : 'Comparison'}: ${name}`)),
    h('div', { class: 'sides' }, side(names[0], left, ranged(left)), side(names[1], right, ranged(right))),
    h('div', { class: 'actions' },
      another(both ? 'One graph' : 'Two graphs', (p) => link(other, p)),
      another('Swap sides', (p) => link(page, swapped(p, both))),
      linkButton('Download pprof', link(page, { ...Object.fromEntries(params), format: 'pprof' }), { download: true, title: `${names[1]} less ${names[0]}, scaled to the same total` }),
      copyPprof(page, { ...Object.fromEntries(params), format: 'pprof' }),
      copyLink(() => link(page, pinned(new URLSearchParams(location.search), left, right))),
      h('span', { class: 'formats muted' }, ['text', 'json', 'folded'].map((format) => h('a', { href: link(page, { ...Object.fromEntries(params), format }) }, format)))),
    data.note && h('p', { class: 'note' }, sentence(data.note)),
    ...[left, right].map((a, i) => a.empty && h('p', { class: 'note' }, sentence(`${names[i]} is empty: ${a.empty}`))),
  ];
  const graphs = [];
  const search = (text) => {
    for (const g of graphs) {
      g.search.value = text;
      g.find(text);
    }
    graphs.at(-1)?.element.scrollIntoView({ block: 'nearest' });
  };
  if (!left.empty && !right.empty) children.push(diffTable(data, names, search));
  const graph = (a, name, coloured) => {
    if (a.empty) return;
    const ask = parts(coloured ? { of: 'right', ...Object.fromEntries([...found].filter(([key]) => /query|from|until/i.test(key))) } : ranged(a, found));
    const flame = new Flame({ ask, remembered: both && a === left ? ['leftSearch', 'leftZoom'] : ['search', 'zoom'], root: a.flame, unit: a.unit, label: name, deltas: coloured ? deltas : null, onfunction: (fn) => { location.href = link('', { ...ranged(a), view: 'callers', function: fn }); } });
    graphs.push(flame);
    children.push(h('h2', null, name), flame.element);
  };
  if (both) graph(left, names[0], false);
  const coloured = !both && !left.empty;
  graph(right, both ? names[1] : `${names[1]}, coloured by the change of each frame\u2019s share`, coloured);
  if (coloured && graphs.length) children.push(deltaLegend(graphs[0].maxDelta, names[0]));
  return h('article', null, ...children.filter(Boolean));
}

const share = (part, total) => (total ? part / total : 0);

// times is the range of one side, or what the page has for both.
function times(params, name) {
  return Object.fromEntries([['from', 'From'], ['until', 'Until']].map(([k, K]) => [k, params.get(name + K) || params.get(k)]).filter(([, v]) => v));
}

// another links to another look at this comparison, with what is chosen and zoomed to by then.
function another(text, to) {
  const now = () => {
    const params = new URLSearchParams(location.search);
    params.delete('format');
    return to(params);
  };
  const aim = (e) => { e.target.href = now(); };
  return linkButton(text, now(), { onpointerdown: aim, onclick: aim });
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

// swapped is the address of the comparison the other way round. Of both graphs each side keeps
// its search and its zoom. The only graph keeps its own; those of the graph that is not shown would
// be those of the other side.
export function swapped(params, both) {
  const p = new URLSearchParams(params);
  const pairs = ['Query', 'From', 'Until'].map((part) => [`left${part}`, `right${part}`]);
  for (const [a, b] of [['leftSearch', 'search'], ['leftZoom', 'zoom']]) {
    if (both) pairs.push([a, b]);
    else p.delete(a);
  }
  for (const [to, from] of pairs.flatMap(([a, b]) => [[a, b], [b, a]])) {
    const v = params.get(from);
    if (v == null) p.delete(to);
    else p.set(to, v);
  }
  return p;
}

// sideNames says what the sides are: where they are of one name, also of when. A name is
// written as the program does.
export function sideNames({ left, right, leftName, rightName }) {
  const when = (a) => (a.windows > 0 ? `, ${clock(a.from)} \u2013 ${clock(a.until)}` : '');
  return [[left, leftName], [right, rightName]].map(([a, name]) => (name === a.title ? name : capital(name)) + (a.span ? ` at ${time(new Date(a.span.start))}` : leftName === rightName ? when(a) : ''));
}

function side(name, a, address) {
  const each = a.ofSpans > 1 ? `, ${value(a.total / a.ofSpans, a.unit)} for each of ${a.ofSpans.toLocaleString('en')} spans`
    : !a.ofSpans && a.profileIds > 1 ? `, ${value(a.total / a.profileIds, a.unit)} each` : '';
  return h('section', { class: 'card side', 'aria-label': name },
    h('div', { class: 'clamp' }, name),
    h('strong', null, value(a.total, a.unit)),
    h('span', { class: 'muted' }, ` ${a.measure} ${sources(a)}${each}`),
    h('a', { class: 'code', href: link('', address), title: a.query }, a.query),
    // A span's own time is in its name.
    !a.span && a.windows > 0 && h('div', { class: 'muted' }, `${clock(a.from)} \u2013 ${clock(a.until)}`),
    a.note && h('p', { class: 'note' }, sentence(a.note)));
}

// deltaLegend explains the colours of change.
function deltaLegend(max, left) {
  const steps = [-1, -0.66, -0.33, 0, 0.33, 0.66, 1];
  const boxes = steps.map(() => h('i'));
  const paint = () => {
    const { dark } = theme();
    boxes.forEach((box, i) => { box.style.background = deltaColour(steps[i], dark); });
  };
  paint();
  const element = h('p', { class: 'muted legend' }, `${signedPoints(-max)} `, h('span', { class: 'scale' }, boxes), ` ${signedPoints(max)} (percentage points) of the total. Red takes more than in \u201c${left}\u201d, blue less. What only that has is in the table alone.`);
  follow(element, 'theme', paint);
  return element;
}
