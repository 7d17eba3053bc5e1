// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { copyButton, h, link } from './dom.js';
import { Flame } from './flame.js';
import { count, duration, percent, time, value, wall } from './format.js';
import { flushButton } from './status.js';

// FEW is the number of samples below which a share says little: with 20, the
// error of a half is about 11 points.
const FEW = 20;

// profileView shows what a query selects.
export function profileView(data, refresh) {
  const params = new URLSearchParams(location.search);
  document.title = `${title(data)} \u00b7 spanprof`;
  const children = [
    h('nav', { class: 'crumbs' }, h('a', { href: './' }, '\u2190 Spans')),
    heading(data),
    queryForm(data.query, params),
    data.note && h('p', { class: 'note' }, data.note),
  ];
  if (data.empty) return h('article', null, ...children, emptyCard(data, refresh));
  const flame = new Flame({ root: data.flame, unit: data.unit, label: `Flame graph of ${title(data)}` });
  return h('article', null, ...children, actions(data, params), fewHint(data), flame.element,
    h('p', { class: 'muted legend' }, 'Width is ', data.sampleType === 'cpu' ? 'CPU time' : data.sampleType, ', colour is the package, ', h('i', null, 'italics'), ' were inlined. Click a frame to zoom, click it again to go back.'));
}

function title(data) {
  return data.span?.name || data.query.match(/span_name="((?:[^"\\]|\\.)*)"/)?.[1] || data.query;
}

function heading(data) {
  const s = data.span;
  if (!s) {
    return h('header', { class: 'head' }, h('h1', null, title(data)),
      tiles([['Total', value(data.total, data.unit)], ['Samples', data.samples.toLocaleString('en')],
        ['Profiles', data.profileIds.toLocaleString('en')],
        data.profileIds > 0 && ['Per profile', value(data.total / data.profileIds, data.unit)],
        ['Windows', data.windows.toLocaleString('en')]]));
  }
  const start = new Date(s.start);
  return h('header', { class: 'head' },
    h('h1', null, s.name || s.profileId, s.err && h('span', { class: 'tag err', title: s.status }, s.status || 'error'),
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
    data.baseline && h('a', { class: 'button', href: link('', { query: data.baseline.query }) }, baselineText(data.baseline)),
    h('a', { class: 'button', href: link('profile', selected), download: true }, 'Download pprof'),
    copyButton('Copy go tool pprof', () => `go tool pprof '${absolute('profile', selected).replaceAll("'", '%27')}'`),
    copyButton('Copy link', () => absolute('', selected)),
    h('a', { class: 'button', href: link('', { ...selected, format: 'text' }) }, 'Text'),
    h('a', { class: 'button', href: link('', { ...selected, format: 'json' }) }, 'JSON'));
}

function baselineText(b) {
  if (b.label) return `All work labelled ${b.label.length > 40 ? `${b.label.slice(0, 40)}\u2026` : b.label}`;
  if (!b.name) return 'All of this process';
  return b.spans > 1 ? `All ${count(b.spans, 'span')} of this name` : 'All spans of this name';
}

function fewHint(data) {
  if (data.samples >= FEW || data.unit !== 'nanoseconds') return null;
  return h('p', { class: 'note' }, `${count(data.samples, 'sample')} only: the widths are rough. `,
    data.baseline && h('a', { href: link('', { query: data.baseline.query }) }, `${baselineText(data.baseline)} together`), data.baseline && ' show more.');
}

function emptyCard(data, refresh) {
  const open = data.span && !data.span.complete;
  return h('section', { class: 'card empty' },
    h('h2', null, open ? 'Not here yet' : 'Nothing to draw'),
    h('p', null, `${data.empty.charAt(0).toUpperCase()}${data.empty.slice(1)}.`),
    open && h('p', { class: 'muted' }, 'This page looks again every two seconds.'),
    h('div', { class: 'actions' },
      open && data.status?.canFlush && flushButton(refresh),
      data.baseline && h('a', { class: 'button primary', href: link('', { query: data.baseline.query }) }, baselineText(data.baseline)),
      h('a', { class: 'button', href: './' }, 'Recent spans')),
    data.baseline && h('p', { class: 'muted' }, h('code', null, data.baseline.query)));
}
