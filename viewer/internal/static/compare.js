// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { fixed, isFrozen, link, pageParams, remember } from './api.js';
import { button, choice, copyLink, h, linkButton, swatch } from './dom.js';
import { Flame } from './flame.js';
import { capital, clock, count, deltaColour, mark, percent, points, sentence, shortName, signedPoints, sources, spanTitle, time, value } from './format.js';
import { Graph } from './graph.js';
import { downloadPage, formats } from './profile.js';

// compareView compares two profiles: in one graph, coloured by change, or in two graphs.
export function compareView(data, page) {
  const { left, right, diff } = data;
  const both = page === 'comparison';
  const name = right.span ? spanTitle(right.span) : right.title;
  document.title = `Comparison: ${name} \u00b7 spanprof`;
  const deltas = new Map(diff.map((d) => [d.name, { delta: d.delta, left: share(d.leftTotal, left.total), right: share(d.rightTotal, right.total) }]));
  const params = pageParams();
  const ranged = (a) => ({ query: a.query, ...times(params, a === left ? 'left' : 'right') });
  const names = sideNames(data);
  const other = () => link(both ? 'comparison-diff' : 'comparison', pageParams()); // with what is chosen by then
  const aim = (e) => { e.target.href = other(); };
  const children = [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: link('') }, '\u2190 Spans'), h('a', { href: link('', ranged(right)) }, 'Flame graph')),
    h('h1', null, h('span', { class: 'clamp', title: name }, `${left.query === right.baseline?.query ? 'Against its baseline' : 'Comparison'}: ${name}`)),
    h('div', { class: 'sides' }, side(names[0], left, ranged(left)), side(names[1], right, ranged(right))),
    h('div', { class: 'actions' },
      linkButton(both ? 'One graph' : 'Two graphs', other(), { onpointerdown: aim, onclick: aim }),
      !isFrozen && h('span', { class: 'downloads' }, downloadPage(), copyLink(() => link(page, pinned(pageParams(), left, right))), formats(page, Object.fromEntries(params), 'text', 'json'))),
    data.note && h('p', { class: 'note' }, sentence(data.note)),
    ...[left, right].map((a, i) => a.empty && h('p', { class: 'note' }, sentence(`${names[i]} is empty: ${a.empty}`))),
  ];
  const graphs = [];
  const search = (text) => {
    for (const g of graphs) g.find(text);
    graphs.at(-1)?.element.scrollIntoView({ block: 'nearest' });
  };
  if (!left.empty && !right.empty) children.push(diffTable(data, names, search));
  const graph = (a, name, coloured) => {
    if (a.empty) return;
    const flame = new Flame({ graph: new Graph(data.flame, a === left ? 'left' : ''), remembered: both && a === left ? ['leftSearch', 'leftZoom'] : ['search', 'zoom'], unit: a.unit, label: name, deltas: coloured ? deltas : null, onfunction: (fn) => { location.href = link('', { ...ranged(a), view: 'callers', function: fn }); } });
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

// sideNames names the sides, with their times if they have one name. A name stays as written.
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
  const boxes = [-1, -0.66, -0.33, 0, 0.33, 0.66, 1].map((step) => swatch((dark) => deltaColour(step, dark)));
  return h('p', { class: 'muted legend' }, `${signedPoints(-max)} `, h('span', { class: 'scale' }, boxes), ` ${signedPoints(max)} (percentage points) of the total. Red takes more than in \u201c${left}\u201d, blue less. What only that has is in the table alone.`);
}

const FIRST_ROWS = 8;
const WITH = { total: ['leftTotal', 'rightTotal'], self: ['leftSelf', 'rightSelf'] };

// measures returns what the sides are compared by: shares, and where known each span.
export function measures({ left, right }) {
  const signed = (v) => (v < 0 ? '\u2212' : '+') + value(Math.abs(v), left.unit);
  return [['share', 'Share', { each: (p) => p.total || 1, show: percent, change: signedPoints }],
    left.ofSpans > 0 && right.ofSpans > 0 && ['span', 'Per span', { each: (p) => p.ofSpans, show: (v) => value(v, left.unit), change: signed }]].filter(Boolean);
}

// differences lists the functions with their values on each side; the biggest change is first.
export function differences({ left, right, diff }, { each }, by) {
  return diff.map((d) => {
    const [a, b] = [d[WITH[by][0]] / each(left), d[WITH[by][1]] / each(right)];
    return { name: d.name, type: d.type, left: a, right: b, delta: b - a };
  }).filter((d) => d.delta !== 0).sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
}

// diffTable lists the biggest changes, with callees or without. search is called with a name.
export function diffTable(data, names, search) {
  const { left, right, diff, diffOmitted } = data;
  const known = measures(data);
  const params = pageParams();
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
    diffOmitted ? h('p', { class: 'muted' }, `${count(diffOmitted, 'function')} left out that differ less, each by ${points(Math.min(...diff.map((d) => Math.abs(d.delta))))} at most.`) : null);
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
