// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { comparison, fixed, link, parts, range, times } from './api.js';
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
import { morph } from './keep.js';
import { follow } from './listen.js';
import { packageLegend } from './packages.js';
import { queryForm } from './queryform.js';
import { sandwichView } from './sandwich.js';
import { strip } from './strip.js';
import { traceList } from './tracelist.js';
import { waits } from './waits.js';

const VIEWS = [['flame', 'Flame graph'], ['functions', 'Functions'], ['callers', h('span', null, 'Callers', h('span', { class: 'rest' }, ' and callees'))], ['executables', 'Executables']];

// profileView shows what a query selects: {element, update}. update shows a later answer to
// the same question, and returns false if that needs a view of its own.
export function profileView(data, refresh) {
  const top = h('div', null, head(data, refresh));
  const graph = data.empty ? null : panel(data);
  return {
    element: h('article', null, top, graph?.element),
    update(later) {
      if (Boolean(later.empty) !== Boolean(data.empty) || later.span?.profileId !== data.span?.profileId || (!data.span && !data.empty)) return false;
      morph(top, h('div', null, head(later, refresh)));
      graph?.update(later);
      return true;
    },
  };
}

// head is what stands above the graph.
function head(data, refresh) {
  document.title = `${data.title} \u00b7 spanprof`;
  const children = [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: './' }, '\u2190 Spans'),
      data.trace && h('a', { href: link('', { trace: data.span.traceId }) }, 'Its trace')),
    heading(data),
    data.span && attributeTable(data.span),
    traceList(data),
    kindTabs(data),
    queryForm(data.query),
    waits(data),
    data.note && h('p', { class: 'note' }, sentence(data.note)),
  ];
  if (data.empty) return [...children, emptyCard(data, refresh)];
  if (!data.span) {
    const line = strip(data.query);
    line.load(data.ranged);
    children.push(line.element);
  }
  return [...children, actions(data), fewHint(data)];
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
    copyLink(() => link('', { ...Object.fromEntries(new URLSearchParams(location.search)), ...fixed(data) })),
    h('span', { class: 'formats muted' }, ['text', 'json', 'folded'].map((format) => h('a', { href: link('', { ...selected, format }) }, format))));
}

// panel is the graph, with tabs for the other views: {element, update}. The address has the
// chosen one.
function panel(data) {
  let functions = new Map(data.functions.map((f) => [f.name, f]));
  let shown = null; // the view of a tab: {elements, update}
  const body = h('div', { class: 'panel', role: 'tabpanel' });
  const tabs = VIEWS.map(([key, text]) => h('button', { type: 'button', role: 'tab', 'data-tab': key, onclick: () => go(key) }, text));
  const show = () => {
    const params = new URLSearchParams(location.search);
    const view = VIEWS.some(([key]) => key === params.get('view')) ? params.get('view') : params.get('function') ? 'callers' : 'flame';
    for (const tab of tabs) tab.setAttribute('aria-selected', String(tab.dataset.tab === view));
    shown = content(view, params.get('function'));
    body.replaceChildren(...shown.elements.flat());
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
  const ask = () => parts({ query: data.query, ...fixed(data) });
  const content = (view, name) => {
    switch (view) {
      case 'functions': {
        const list = functionsView(data, pick, ask());
        return { elements: [list.element], update: () => list.update(data) };
      }
      // Who reads about one function is not to be interrupted.
      case 'callers': return { elements: [sandwichView(data, name, functions, pick, ask())], update() {} };
      case 'executables': return { elements: [executablesView(data)], update: () => body.replaceChildren(executablesView(data)) };
    }
    const flame = new Flame({ root: data.flame, unit: data.unit, label: `Flame graph of ${data.title}`, functions, onfunction: pick, ask: ask(), remembered: true });
    const legend = () => (data.frameTypes ? typeLegend(data, flame) : packageLegend(data, flame));
    let chips = legend();
    return {
      elements: [flame.element, chips,
        h('p', { class: 'muted legend' }, `Width is ${width(data)}, colour is the ${data.frameTypes ? 'type of the frame' : 'package'}, `, h('i', null, 'italics'), ' were inlined. Click a frame to zoom, click it again to go back; ', h('kbd', null, 'c'), ' shows its callers and callees.')],
      update() {
        flame.update(data.flame, functions);
        const fresh = legend();
        chips.replaceWith(fresh);
        chips = fresh;
      },
    };
  };
  follow(body, 'popstate', show);
  show();
  return {
    element: h('div', null, h('div', { class: 'tabs views', role: 'tablist', 'aria-label': 'View' }, tabs), body),
    update(later) {
      const same = later.total === data.total && later.samples === data.samples;
      data = later;
      if (same) return; // It is the span's duration that has changed.
      functions = new Map(data.functions.map((f) => [f.name, f]));
      shown.update();
    },
  };
}

// width says what a frame's width means. Heap in use is that of one moment.
function width(data) {
  if (!isHeap(data)) return data.measure;
  const until = time(new Date(data.until));
  return data.sampleType.startsWith('inuse') ? `the ${data.measure} at ${until}` : `${data.measure} up to ${until}`;
}
