// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link, range } from './api.js';
import { copyButton, h, tiles } from './dom.js';
import { attributeLine, earlierTag } from './spanrow.js';
import { capital, clock, count, duration, isHeap, percent, sentence, spanTitle, time, value, wall } from './format.js';
import { arrival } from './status.js';

// heading shows the selection: a span, or the sum of some work.
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
  // The CPU time of the host is beside the process's own: never in it.
  const other = (data.sampleType !== 'cpu' || data.frameTypes) && data.total > 0;
  return h('header', { class: 'head' },
    h('h1', null, h('span', { class: 'clamp', title: spanTitle(s) }, spanTitle(s)),
      s.err && h('span', { class: 'tag err' }, 'error'),
      s.manual && h('span', { class: 'tag' }, 'manual'),
      s.earlier && earlierTag(s.earlier),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival())),
    answerBar(data),
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

// COLOURS are the colours of states; time without a sample is hatched.
const COLOURS = { 'on a CPU': '#e8590c', 'running, but the machine withheld the CPU': '#ffa94d', running: '#e8590c', 'ready without a CPU': '#94d82d', runnable: '#94d82d', mutex: '#d6336c', rwmutex: '#d6336c', semaphore: '#d6336c', channel: '#1c7ed6', select: '#4dabf7', cond: '#9775fa', waitgroup: '#9775fa', 'cond or waitgroup': '#9775fa', network: '#0ca678', 'file or syscall': '#a9702c', syscall: '#a9702c', sleep: '#868e96', GC: '#f2b705', cgo: '#5f3dc4', unknown: '#adb5bd', 'other wait': '#adb5bd', 'not on a CPU': '#748ffc' };

const amount = (w, of) => `${duration(w.ns)}${w.errorNs > 0 ? ` \u00b1 ${duration(w.errorNs)}` : ''} (${percent(w.ns / of)})`;

export const colourOf = (state) => COLOURS[state] ?? (state.startsWith('gc') ? COLOURS.GC : '');

function swatch(state) {
  const i = h('i', { class: colourOf(state) ? null : 'blank' });
  if (colourOf(state)) i.style.background = colourOf(state);
  return i;
}

// stateBar is a bar of states in a whole, and their names. rest follows the names.
export function stateBar(states, whole, rest) {
  if (!states.length) return [];
  const texts = states.map((s) => `${s.state} ${amount(s, whole)}`);
  return [h('div', { class: 'parts', 'aria-hidden': 'true' }, states.map((s, n) => {
    const i = swatch(s.state);
    i.style.flexBasis = `${s.ns / whole * 100}%`;
    i.title = texts[n];
    return i;
  })), h('p', { class: 'keys', title: '\u00b1 is the standard error, by the number of samples' }, states.map((s, n) => h('span', { title: s.source }, swatch(s.state), texts[n])), rest)];
}

// answerBar begins a span's page: its time in one sentence, and as a bar of states.
function answerBar({ answer, span, query }) {
  if (!answer) return null;
  const whole = span.durationNs || 1;
  return h('section', { class: 'answer', 'aria-label': 'Where its time went' },
    h('p', { class: 'sentence' }, answer.sentence),
    stateBar(answer.states, whole, answer.query && answer.query !== query && h('a', { href: link('', { query: answer.query }) }, 'where it waited')),
    answer.sampled && h('p', { class: 'muted' }, 'Sampled: ', answer.sampled.map((s) => `${s.state} ${amount(s, whole)}`).join(', ')),
    answer.note && h('p', { class: 'muted' }, sentence(answer.note)));
}

// waits has the classes of the wall time of more than one span.
export function waits(data) {
  if (!data.waits?.length || data.answer) return null;
  return h('p', { class: 'muted' },
    data.errorNs > 0 && `${capital(data.measure)} ${duration(data.total)} \u00b1 ${duration(data.errorNs)}. `,
    data.waits.map((w) => `${w.class} ${amount(w, data.total)}`).join(', '));
}

// samples returns the number of samples, with the number to expect in a span of this
// duration.
function samples({ samples: n, expectedSamples }) {
  const text = n.toLocaleString('en');
  if (!expectedSamples) return text;
  return h('span', { title: 'For each of its goroutines, at the present rate of wall samples' }, text,
    h('small', { class: 'muted' }, ` of ${expectedSamples < 10 ? expectedSamples.toFixed(1) : Math.round(expectedSamples).toLocaleString('en')} expected`));
}

// detailsView has the ids of a span, its attributes, and the query.
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

// attributeTable lists all attributes of a span, each with links to other spans with it; null
// without any.
function attributeTable(s) {
  const all = s.attributes ?? [];
  if (!all.length && !s.attributesOmitted) return null;
  return h('details', { class: 'card described', open: all.length <= 8 },
    h('summary', null, h('h2', null, 'Attributes'), h('span', { class: 'muted' }, count(all.length, 'attribute'))),
    h('dl', null, all.map((a) => h('div', null,
      h('dt', null, a.key, a.child && h('span', { class: 'muted' }, ` (${a.child})`)),
      h('dd', null, h('code', { class: 'clamp', title: a.value }, a.value),
        h('span', { class: 'links' },
          h('a', { href: link('', { attribute: `${a.key}=${a.value}` }) }, 'spans'),
          h('a', { href: link('', { query: `.cpu{span.${a.key}=${JSON.stringify(a.value)}}` }) }, 'flame graph')))))),
    s.attributesOmitted && h('p', { class: 'muted' }, 'Some are left out: the store had no room, or the span has too many attributes or events.'));
}

// queryForm is the input for a query.
export function queryForm(query) {
  const input = h('input', { name: 'query', 'aria-label': 'FlameQL query', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' });
  input.value = query;
  const kept = Object.entries(range()).map(([name, value]) => h('input', { type: 'hidden', name, value }));
  return h('form', { class: 'query', action: './', method: 'get', role: 'search' }, input, ...kept, h('button', null, 'Show'));
}
