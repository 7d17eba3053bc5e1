// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { comparison, fixed, get, go, here, isFrozen, link, pageParams, range, times } from './api.js';
import { copyButton, copyLink, follow, h, linkButton, morph } from './dom.js';
import { Flame } from './flame.js';
import { capital, count, duration, isHeap, percent, sentence, time, wall } from './format.js';
import { callersView, colourLegend, functionsView } from './functions.js';
import { Graph } from './graph.js';
import { detailsView, heading } from './span.js';
import { arrival, flushButton } from './status.js';
import { strip } from './strip.js';
import { exactView, traceList } from './trace.js';

const hasExact = (data) => Boolean(data.span?.exactTimes);
const exactPanel = (data) => h('section', { class: 'card' }, exactView(data));
const VIEWS = [['flame', 'Flame graph'], ['functions', 'Functions'], ['callers', h('span', null, 'Callers', h('span', { class: 'rest' }, ' and callees'))], ['trace', 'Trace'], ['details', 'Details'], ['time', 'Time']];

// profileView shows what a query selects. update returns false if a later answer needs another view.
export function profileView(data, refresh) {
  const top = h('div', null, head(data, refresh));
  const rest = h('div', null, below(data, refresh));
  const graph = data.empty ? null : panel(data);
  const exact = data.empty && hasExact(data) && exactPanel(data);
  const element = h('article', null, top, graph?.element, exact, rest);
  return {
    element,
    update(later) {
      if (Boolean(later.empty) !== Boolean(data.empty) || hasExact(later) !== hasExact(data) || later.span?.profileId !== data.span?.profileId || (!data.span && !data.empty)) return false;
      morph(top, h('div', null, head(later, refresh)));
      morph(rest, h('div', null, below(later, refresh)));
      graph?.update(later);
      return true;
    },
  };
}

// head is what stands above the graph.
function head(data, refresh) {
  document.title = `${data.title} \u00b7 spanprof`;
  const children = [
    heading(data),
    data.spanName && !isFrozen && tail({ name: data.spanName, service: data.spanService ?? '', ...range() }),
    data.note && h('p', { class: 'note' }, sentence(data.note)),
  ];
  if (data.empty) return [...children, kindTabs(data)];
  if (!data.span) {
    const line = strip(data.query);
    line.load(data.ranged).catch(() => {}); // The page itself shows an error.
    children.push(line.element);
  }
  return [...children, actions(data)];
}

// tail is where the time of a name goes, and why its slow spans are slow. It takes three queries for each of some 30 spans.
function tail(of) {
  const element = h('div');
  get(link('about', of)).then(({ parts, tail: { sentence: text, slow, median, differences, values } }) => {
    const rows = [
      ...differences.map((d) => [`${d.ns < 0 ? '\u2212' : '+'}${duration(Math.abs(d.ns))} \u00b1 ${duration(d.errorNs)}`, d.part]),
      ...values.map((v) => [`${percent(v.slow)} against ${percent(v.median)}`, `have ${v.key}=${v.value}`]),
    ];
    element.replaceChildren(...[
      parts && h('p', null, `Their wall time: ${parts.map((p) => `${percent(p.share)} ${p.part}`).join(', ')}.`),
      h('p', null, text),
      rows.length && h('details', null, h('summary', null, `${count(slow, 'slow span')} against ${count(median, 'median one')}`),
        h('div', { class: 'scroll' }, h('table', null, h('tbody', null, rows.map(([n, of]) => h('tr', null, h('td', { class: 'num' }, n), h('td', null, of))))))),
    ].filter(Boolean));
  }).catch(() => {}); // The page itself shows an error.
  return element;
}

// below is what stands below the exact times of what has no samples.
const below = (data, refresh) => (data.empty ? [emptyCard(data, refresh), traceList(data), detailsView(data)] : []);

// PLACES are the types with one sample for each place in the code. Their number is no quality.
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
    downloads(selected, () => link('', { ...Object.fromEntries(pageParams()), ...fixed(data) })));
}

// downloads are the forms of a page for other tools and other people; a frozen page has none.
export const downloads = (params, address) => (isFrozen ? null : h('span', { class: 'downloads' },
  linkButton('Download pprof', link('profile', params), { download: true }),
  copyButton('Copy go tool pprof', () => `go tool pprof '${new URL(link('profile', params), location.href).href.replaceAll("'", '%27')}'`),
  downloadPage(), copyLink(address), formats('', params, 'text', 'json', 'folded')));

export const downloadPage = () => linkButton('Download this page', `${here().pathname}?${new URLSearchParams([...pageParams(), ['format', 'frozen']])}`, { download: true, title: 'One file that opens without a server' });

export const formats = (page, params, ...list) => h('span', { class: 'formats muted' }, list.map((format) => h('a', { href: link(page, { ...params, format }) }, format)));

// panel is the graph, with tabs for the other views. The address has the chosen one.
function panel(data) {
  let graph = new Graph(data.flame);
  let shown = null; // the view of a tab: {elements, update}
  const body = h('div', { class: 'panel', role: 'tabpanel' });
  const views = VIEWS.filter(([key]) => key !== 'time' || hasExact(data));
  const tabs = views.map(([key, text]) => h('button', { type: 'button', role: 'tab', 'data-tab': key, onclick: () => choose(key) }, text));
  const row = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'View' }, tabs);
  const offer = () => { tabs.find((tab) => tab.dataset.tab === 'trace').hidden = !traceList(data); };
  const show = () => {
    const params = pageParams();
    const asked = params.get('view');
    const there = views.some(([key]) => key === asked) && (asked !== 'trace' || traceList(data));
    const view = there ? asked : params.get('function') ? 'callers' : 'flame';
    for (const tab of tabs) tab.setAttribute('aria-selected', String(tab.dataset.tab === view));
    offer();
    shown = content(view, params.get('function'));
    body.replaceChildren(...shown.elements.flat());
  };
  const choose = (view, name) => {
    const params = pageParams();
    if (view === 'flame') params.delete('view');
    else params.set('view', view);
    if (name) params.set('function', name);
    else if (view !== 'callers') params.delete('function');
    go(`?${params}`);
    show();
  };
  const pick = (name) => choose('callers', name);
  const follows = (made) => {
    const element = h('div', null, made(data));
    return { elements: [element], live: true, update: () => morph(element, h('div', null, made(data))) };
  };
  const content = (view, name) => {
    switch (view) {
      case 'functions': {
        const list = functionsView(data, graph, pick);
        return { elements: [list.element], update: () => list.update(data, graph) };
      }
      // A reader of one function must not be interrupted.
      case 'callers': return { elements: callersView(data, graph, name, pick), update() {} };
      case 'time': return { elements: [exactPanel(data)], update() {} };
      case 'trace': return follows(traceList);
      case 'details': return follows(detailsView);
    }
    const flame = new Flame({ graph, unit: data.unit, label: `Flame graph of ${data.title}`, onfunction: pick, remembered: ['search', 'zoom'] });
    const legend = () => h('div', null, fewHint(data), colourLegend(data, flame));
    let chips = legend();
    return {
      elements: [flame.element, chips,
        h('p', { class: 'muted legend' }, `Width is ${width(data)}, colour is the ${data.frameTypes ? 'type of the frame' : 'package'}, `, h('i', null, 'italics'), ' were inlined. ', 'Click a frame to zoom, click it again to go back; ', h('kbd', null, 'c'), ' shows its callers and callees.')],
      update() {
        flame.update(graph);
        const fresh = legend();
        chips.replaceWith(fresh);
        chips = fresh;
      },
    };
  };
  follow(body, 'popstate', show);
  show();
  const kinds = h('div', null, kindTabs(data));
  return {
    element: h('div', null, h('div', { class: 'both' }, row, kinds), body),
    update(later) {
      const same = later.total === data.total && later.samples === data.samples;
      data = later;
      offer();
      morph(kinds, h('div', null, kindTabs(data)));
      if (same && !shown.live) return; // It is the span's duration that has changed.
      graph = new Graph(data.flame);
      shown.update();
    },
  };
}

// width is the meaning of a frame's width. Heap in use belongs to one moment.
function width(data) {
  if (!isHeap(data)) return data.measure;
  const until = time(new Date(data.until));
  return data.sampleType.startsWith('inuse') ? `the ${data.measure} at ${until}` : `${data.measure} up to ${until}`;
}

// FEW samples have no exact shares: with 20, the error of a half is about 11 points.
const FEW = 20;

// fewHint warns of a graph with few samples, and links to one with more.
function fewHint(data) {
  if (data.samples >= FEW || data.unit !== 'nanoseconds') return null;
  const length = data.span && wall(data.span) != null ? ` in ${duration(data.span.durationNs)}` : '';
  return h('p', { class: 'note few' }, `${count(data.samples, 'sample')}${length}: the widths are rough. `,
    data.baseline && 'Here are ', data.baseline && h('a', { href: link('', { query: data.baseline.query, ...times(data.baseline) }) }, data.baseline.meaning), data.baseline && '.');
}

// emptyCard has the reason for an empty page, and what to do.
function emptyCard(data, refresh) {
  const open = data.waiting;
  const { baseline } = data;
  // Links to profiles of the same work come first.
  const ways = data.kinds.filter((k) => k.samples > 0 && k.query !== data.query).map((k) => [data.ranged ? capital(k.measure) : `${capital(k.measure)}: ${count(k.samples, 'sample')}`, k.query, data.ranged && range()]);
  if (data.withChildren) ways.unshift(['With its children', data.withChildren.query]);
  if (baseline) ways.push([capital(baseline.meaning), baseline.query, times(baseline)]);
  else if (!ways.length && data.windows > 0) ways.push([data.status?.host ? 'The whole machine' : 'The whole process', `.${data.kinds.find((k) => k.query === data.query)?.type ?? 'cpu'}{}`]);
  return h('section', { class: 'card empty' },
    h('h2', null, open && data.span ? 'Not here yet' : 'Nothing to draw'),
    h('p', null, sentence(data.empty)),
    open && h('p', { class: 'muted' }, 'This page polls every two seconds; ', arrival(), '.'),
    h('div', { class: 'actions' },
      open && data.status?.canFlush && flushButton(refresh),
      ways.map(([text, query, when], i) => linkButton(text, link('', { query, ...when }), { class: i ? 'button' : 'button primary' })),
      linkButton('Recent spans', './')));
}
