// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link, range } from './api.js';
import { attributeLine, attributeTable } from './attributes.js';
import { copyButton } from './copy.js';
import { h } from './dom.js';
import { earlierTag } from './earlier.js';
import { capital, clock, duration, isHeap, percent, spanTitle, time, value, wall } from './format.js';
import { arrival } from './status.js';

// heading shows what is selected: a span, or the sum of some work.
export function heading(data) {
  return data.span ? spanHeading(data) : h('header', { class: 'head' },
    h('h1', null, h('span', { class: 'clamp', title: data.title }, data.title)),
    tiles([[capital(data.measure), value(data.total, data.unit)],
      [isHeap(data) ? 'Allocation sites' : 'Samples', data.samples.toLocaleString('en')],
      data.profileIds > 0 && ['Profile ids', data.profileIds.toLocaleString('en')],
      data.profileIds > 0 && data.query.includes('span_name=') && ['Per profile id', value(data.total / data.profileIds, data.unit)],
      !data.ranged && ['Windows', data.windows.toLocaleString('en')],
      data.windows > 0 && ['Time', `${clock(data.from)} \u2013 ${clock(data.until)}`]]));
}

function spanHeading(data) {
  const s = data.span;
  const cpu = s.cpuSamples > 0;
  // The CPU time that the host saw is beside the process's own: never in it.
  const other = (data.sampleType !== 'cpu' || data.frameTypes) && data.total > 0;
  return h('header', { class: 'head' },
    h('h1', null, h('span', { class: 'clamp', title: spanTitle(s) }, spanTitle(s)),
      s.err && h('span', { class: 'tag err' }, 'error'),
      s.manual && h('span', { class: 'tag' }, 'manual'),
      s.earlier && earlierTag(s.earlier),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival())),
    s.err && s.status && h('p', { class: 'status' }, h('span', { class: 'clamp', title: s.status }, s.status)),
    tiles([wall(s) != null && [s.running ? 'Duration so far' : 'Duration', duration(s.durationNs)],
      ['CPU', cpu ? duration(s.cpuNs) : '\u2013'],
      s.cpuInclusiveNs > s.cpuNs && ['CPU with children', duration(s.cpuInclusiveNs)],
      wall(s) > 0 && ['CPU of duration', cpu ? percent(s.cpuNs / s.durationNs) : '\u2013'],
      other && [data.sampleType === 'wall' ? 'Wall time in samples' : capital(data.measure), value(data.total, data.unit)],
      ['Samples', samples(data)],
      [wall(s) == null ? 'Seen since' : 'Started', h('time', { datetime: s.start, title: s.start }, clock(s.start))],
      ['Profile', h('code', null, s.profileId)]]),
    attributeLine(s),
    s.afterEnd && h('p', { class: 'after' }, h('b', null, duration(s.afterEnd.cpuNs)), ' of CPU time after its end, in goroutines that it had started: in no number above. ',
      h('a', { href: link('', { query: s.afterEnd.query }) }, 'Its flame graph')));
}

// samples returns the number of samples, with the number to expect in a span of this
// duration.
function samples({ samples: n, expectedSamples }) {
  const text = n.toLocaleString('en');
  if (!expectedSamples) return text;
  return h('span', { title: 'For each of its goroutines, at the rate at which wall time is sampled now' }, text,
    h('small', { class: 'muted' }, ` of ${expectedSamples < 10 ? expectedSamples.toFixed(1) : Math.round(expectedSamples).toLocaleString('en')} expected`));
}

export function tiles(list) {
  return h('dl', { class: 'tiles' }, list.filter(Boolean).map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))));
}

// detailsView is what a span is known by, its attributes, and the query.
export function detailsView({ span, query }) {
  return h('div', null, span && ids(span), span && attributeTable(span), queryForm(query));
}

function ids(s) {
  const start = new Date(s.start);
  const pair = (name, content, copied) => h('div', null, h('dt', null, name), h('dd', null, content, copied && copyButton('Copy', () => copied, { class: 'tiny', 'aria-label': `Copy ${name} id` })));
  return h('dl', { class: 'ids' },
    pair('Service', s.service),
    pair(wall(s) == null ? 'Seen since' : 'Started', h('time', { datetime: s.start, title: start.toISOString() }, `${start.toLocaleDateString('sv')} ${time(start)}`)),
    pair('Profile', h('code', null, s.profileId), s.profileId),
    s.traceId && pair('Trace', h('code', null, s.traceId), s.traceId));
}

// queryForm is the input for a query.
export function queryForm(query) {
  const input = h('input', { name: 'query', 'aria-label': 'FlameQL query', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' });
  input.value = query;
  const kept = Object.entries(range()).map(([name, value]) => h('input', { type: 'hidden', name, value }));
  return h('form', { class: 'query', action: './', method: 'get', role: 'search' }, input, ...kept, h('button', null, 'Show'));
}
