// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { comparison, link, range, times } from './api.js';
import { attributeTable } from './attributes.js';
import { copyLink, copyPprof } from './copy.js';
import { h, linkButton } from './dom.js';
import { executablesView } from './executables.js';
import { Flame } from './flame.js';
import { capital, isHeap, sentence, time } from './format.js';
import { typeLegend } from './frametypes.js';
import { functionsView } from './functions.js';
import { heading } from './heading.js';
import { emptyCard, fewHint } from './hints.js';
import { follow } from './listen.js';
import { packageLegend } from './packages.js';
import { queryForm } from './queryform.js';
import { sandwichView } from './sandwich.js';
import { strip } from './strip.js';
import { traceList } from './tracelist.js';
import { waits } from './waits.js';

const VIEWS = [['flame', 'Flame graph'], ['functions', 'Functions'], ['callers', h('span', null, 'Callers', h('span', { class: 'rest' }, ' and callees'))], ['executables', 'Executables']];

// profileView shows what a query selects.
export function profileView(data, refresh) {
  document.title = `${data.title} \u00b7 spanprof`;
  const children = [
    h('nav', { class: 'crumbs' }, h('a', { href: './' }, '\u2190 Spans'),
      data.trace && h('a', { href: link('', { trace: data.span.traceId }) }, 'Its trace')),
    heading(data),
    data.span && attributeTable(data.span),
    traceList(data),
    kindTabs(data),
    queryForm(data.query),
    waits(data),
    data.note && h('p', { class: 'note' }, sentence(data.note)),
  ];
  if (data.empty) return h('article', null, ...children, emptyCard(data, refresh));
  if (!data.span) {
    const line = strip(data.query);
    line.load(data.ranged);
    children.push(line.element);
  }
  return h('article', null, ...children, actions(data), fewHint(data), panel(data));
}

// PLACES are the types whose samples are places in the code, one for each window: their
// number says nothing about the quality of the graph.
const PLACES = /^(inuse|alloc|goroutines)/;

// kindTabs links to the other profiles of the same work.
function kindTabs(data) {
  if (data.kinds.length < 2) return null;
  return h('nav', { class: 'tabs kinds', 'aria-label': 'Kind of profile' }, data.kinds.map((k) =>
    h('a', { href: link('', { query: k.query, ...range() }), 'aria-current': k.query === data.query && 'page', title: capital(k.measure) },
      k.label, !data.ranged && !PLACES.test(k.type) && h('span', { class: 'muted' }, k.samples.toLocaleString('en')))));
}

function actions(data) {
  const { baseline, withChildren } = data;
  const selected = { query: data.query, ...range() };
  return h('div', { class: 'actions' },
    withChildren && linkButton('With its children', link('', { query: withChildren.query }), { class: 'button primary', title: capital(withChildren.meaning) }),
    baseline && linkButton('Compare with the baseline', comparison(baseline.query, times(baseline), data.query, range()), { class: withChildren ? 'button' : 'button primary', title: capital(baseline.meaning) }),
    baseline && linkButton(capital(baseline.meaning), link('', { query: baseline.query, ...times(baseline) })),
    linkButton('Download pprof', link('profile', selected), { download: true }),
    copyPprof('profile', selected),
    copyLink(),
    h('span', { class: 'formats muted' }, ['text', 'json', 'folded'].map((format) => h('a', { href: link('', { ...selected, format }) }, format))));
}

// panel is the graph, with tabs for the other views. The address has the chosen one.
function panel(data) {
  const functions = new Map(data.functions.map((f) => [f.name, f]));
  const body = h('div', { class: 'panel', role: 'tabpanel' });
  const tabs = VIEWS.map(([key, text]) => h('button', { type: 'button', role: 'tab', 'data-tab': key, onclick: () => go(key) }, text));
  const show = () => {
    const params = new URLSearchParams(location.search);
    const view = VIEWS.some(([key]) => key === params.get('view')) ? params.get('view') : params.get('function') ? 'callers' : 'flame';
    for (const tab of tabs) tab.setAttribute('aria-selected', String(tab.dataset.tab === view));
    body.replaceChildren(...[content(view, params.get('function'))].flat());
  };
  const go = (view, name) => {
    const params = new URLSearchParams(location.search);
    if (view === 'flame') params.delete('view');
    else params.set('view', view);
    if (name) params.set('function', name);
    else if (view !== 'callers') params.delete('function');
    history.pushState(null, '', `?${params}`);
    show();
  };
  const pick = (name) => go('callers', name);
  const content = (view, name) => {
    switch (view) {
      case 'functions': return functionsView(data, pick);
      case 'callers': return sandwichView(data, name, functions, pick);
      case 'executables': return executablesView(data);
    }
    const flame = new Flame({ root: data.flame, unit: data.unit, label: `Flame graph of ${data.title}`, functions, onfunction: pick });
    return [flame.element, data.frameTypes ? typeLegend(data, flame) : packageLegend(data, flame),
      h('p', { class: 'muted legend' }, `Width is ${width(data)}, colour is the ${data.frameTypes ? 'type of the frame' : 'package'}, `, h('i', null, 'italics'), ' were inlined. Click a frame to zoom, click it again to go back; ', h('kbd', null, 'c'), ' shows its callers and callees.')];
  };
  follow(body, 'popstate', show);
  show();
  return h('div', null, h('div', { class: 'tabs views', role: 'tablist', 'aria-label': 'View' }, tabs), body);
}

// width says what a frame's width means. Heap in use is that of one moment.
function width(data) {
  if (!isHeap(data)) return data.measure;
  const until = time(new Date(data.until));
  return data.sampleType.startsWith('inuse') ? `the ${data.measure} at ${until}` : `${data.measure} up to ${until}`;
}
