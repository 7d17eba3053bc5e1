// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { copyButton, h, link } from './dom.js';
import { Flame } from './flame.js';
import { capital, count, duration, isHeap, percent, sentence, spanTitle, time, value, wall } from './format.js';
import { flushButton } from './status.js';

// FEW is the number of samples below which a share says little: with 20, the
// error of a half is about 11 points.
const FEW = 20;

// profileView shows what a query selects.
export function profileView(data, refresh) {
  const params = new URLSearchParams(location.search);
  document.title = `${data.title} \u00b7 spanprof`;
  const children = [
    h('nav', { class: 'crumbs' }, h('a', { href: './' }, '\u2190 Spans')),
    heading(data),
    queryForm(data.query, params),
    data.note && h('p', { class: 'note' }, data.note),
  ];
  if (data.empty) return h('article', null, ...children, emptyCard(data, refresh));
  const flame = new Flame({ root: data.flame, unit: data.unit, label: `Flame graph of ${data.title}` });
  return h('article', null, ...children, actions(data, params), fewHint(data), flame.element,
    h('p', { class: 'muted legend' }, `Width is ${width(data)}, colour is the package, `, h('i', null, 'italics'), ' were inlined. Click a frame to zoom, click it again to go back.'));
}

// width says what a frame's width is. What is in use is so at one moment.
function width(data) {
  if (!isHeap(data)) return data.measure;
  const until = time(new Date(data.until));
  return data.sampleType.startsWith('inuse') ? `the ${data.measure} at ${until}` : `${data.measure} up to ${until}`;
}

function heading(data) {
  const s = data.span;
  if (!s) {
    return h('header', { class: 'head' }, h('h1', null, h('span', { class: 'clamp', title: data.title }, data.title)),
      tiles([[capital(data.measure), value(data.total, data.unit)],
        [isHeap(data) ? 'Allocation sites' : 'Samples', data.samples.toLocaleString('en')],
        data.profileIds > 0 && ['Profile ids', data.profileIds.toLocaleString('en')],
        data.profileIds > 0 && data.query.includes('span_name=') && ['Per profile id', value(data.total / data.profileIds, data.unit)],
        ['Windows', data.windows.toLocaleString('en')]]));
  }
  const start = new Date(s.start);
  return h('header', { class: 'head' },
    h('h1', null, h('span', { class: 'clamp', title: spanTitle(s) }, spanTitle(s)), s.err && h('span', { class: 'tag err', title: s.status }, s.status || 'error'),
      s.manual && h('span', { class: 'tag' }, 'manual'), !s.complete && h('span', { class: 'tag open' }, 'window open')),
    h('dl', { class: 'ids' },
      pair('Service', s.service), pair(wall(s) == null ? 'Seen since' : 'Started', h('time', { datetime: s.start, title: start.toISOString() }, `${start.toLocaleDateString('en-CA')} ${time(start)}`)),
      pair('Profile', h('code', null, s.profileId), s.profileId), s.traceId && pair('Trace', h('code', null, s.traceId), s.traceId)),
    tiles([wall(s) != null && ['Wall', duration(s.durationNs)], ['CPU', s.cpuSamples ? duration(s.cpuNs) : '\u2013'],
      wall(s) > 0 && ['CPU of wall', s.cpuSamples ? percent(s.cpuNs / s.durationNs) : '\u2013'],
      ['Samples', s.cpuSamples.toLocaleString('en')]]));
}

function pair(name, content, copied) {
  return h('div', null, h('dt', null, name), h('dd', null, content, copied && copyButton('Copy', () => copied, { class: 'tiny', 'aria-label': `Copy ${name} id` })));
}

export function tiles(list) {
  return h('dl', { class: 'tiles' }, list.filter(Boolean).map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))));
}

export function queryForm(query, params) {
  const input = h('input', { name: 'query', 'aria-label': 'FlameQL query', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' });
  input.value = query;
  const kept = ['from', 'until'].filter((k) => params.get(k)).map((k) => h('input', { type: 'hidden', name: k, value: params.get(k) }));
  return h('form', { class: 'query', action: './', method: 'get', role: 'search' }, input, ...kept, h('button', null, 'Show'));
}

function actions(data, params) {
  const range = {};
  for (const k of ['from', 'until']) if (params.get(k)) range[k] = params.get(k);
  const selected = { query: data.query, ...range };
  const right = Object.fromEntries(Object.entries(range).map(([k, v]) => [k === 'from' ? 'rightFrom' : 'rightUntil', v]));
  const absolute = (page, p) => new URL(link(page, p), location.href).href;
  return h('div', { class: 'actions' },
    data.baseline && h('a', { class: 'button primary', href: link('comparison-diff', { query: data.baseline.query, leftQuery: data.baseline.query, rightQuery: data.query, ...right }) }, 'Compare with the baseline'),
    data.baseline && h('a', { class: 'button', href: link('', { query: data.baseline.query }) }, capital(data.baseline.meaning)),
    h('a', { class: 'button', href: link('profile', selected), download: true }, 'Download pprof'),
    copyButton('Copy go tool pprof', () => `go tool pprof '${absolute('profile', selected).replaceAll("'", '%27')}'`),
    copyButton('Copy link', () => absolute('', selected)),
    h('a', { class: 'button', href: link('', { ...selected, format: 'text' }) }, 'Text'),
    h('a', { class: 'button', href: link('', { ...selected, format: 'json' }) }, 'JSON'));
}

function fewHint(data) {
  if (data.samples >= FEW || data.unit !== 'nanoseconds') return null;
  return h('p', { class: 'note' }, `${count(data.samples, 'sample')} only: the widths are rough. `,
    data.baseline && h('a', { href: link('', { query: data.baseline.query }) }, capital(data.baseline.meaning)), data.baseline && ' may show more.');
}

function emptyCard(data, refresh) {
  const open = data.waiting;
  return h('section', { class: 'card empty' },
    h('h2', null, open && data.span ? 'Not here yet' : 'Nothing to draw'),
    h('p', null, sentence(data.empty)),
    open && h('p', { class: 'muted' }, 'This page looks again every two seconds.'),
    h('div', { class: 'actions' },
      open && data.status?.canFlush && flushButton(refresh),
      data.baseline && h('a', { class: 'button primary', href: link('', { query: data.baseline.query }) }, capital(data.baseline.meaning)),
      h('a', { class: 'button', href: './' }, 'Recent spans')),
    data.baseline && h('p', { class: 'muted' }, h('code', null, data.baseline.query)));
}
