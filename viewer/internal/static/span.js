// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, link, range } from './api.js';
import { bar, button, copyButton, h, tiles } from './dom.js';
import { ago, capital, clock, colourOf, count, duration, isHeap, percent, sentence, spanTitle, time, value, wall } from './format.js';
import { arrival, earlierTag } from './status.js';
import { nested } from './trace.js';

// heading shows the selection: a span, or the sum of some work.
export function heading(data) {
  return data.span ? spanHeading(data) : h('header', { class: 'head' },
    h('h1', null, h('span', { class: 'clamp', title: data.title }, data.title)),
    tiles([[capital(data.measure), value(data.total, data.unit) + (data.errorNs ? ` \u00b1 ${duration(data.errorNs)}` : '')],
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
      s.earlier && earlierTag(),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival())),
    answerBar(data),
    s.err && s.status && h('p', { class: 'status' }, h('span', { class: 'clamp', title: s.status }, s.status)),
    tiles([wall(s) != null && [s.running ? 'Duration so far' : 'Duration', duration(s.durationNs)],
      ['CPU', cpu ? duration(s.cpuNs) : '\u2013'],
      s.cpuInclusiveNs > s.cpuNs && ['CPU with children', duration(s.cpuInclusiveNs)],
      wall(s) > 0 && ['CPU of duration', cpu ? percent(s.cpuNs / s.durationNs) : '\u2013'],
      other && [data.sampleType === 'wall' ? 'Wall time in samples' : capital(data.measure), value(data.total, data.unit)],
      ['Samples', data.samples.toLocaleString('en')],
      [wall(s) == null ? 'Seen since' : 'Started', h('time', { datetime: s.start, title: s.start }, clock(s.start))],
      ['Profile', h('code', null, s.profileId)]]),
    attributeLine(s),
    s.cpuAfterEndNs && h('p', { class: 'after' }, h('b', null, duration(s.cpuAfterEndNs)), ' of CPU time after its end, in goroutines that it had started: in no number above. ',
      h('a', { href: link('', { query: `.cpu{ended_span_id=${JSON.stringify(s.profileId)}}` }) }, 'Its flame graph')));
}

const amount = (w, of) => `${duration(w.ns)}${w.errorNs > 0 ? ` \u00b1 ${duration(w.errorNs)}` : ''} (${percent(w.ns / of)})`;

function stateSpot(state) {
  const i = h('i');
  if (colourOf(state)) i.style.background = colourOf(state);
  return i;
}

// stateBar is a bar of states in a whole, and their names. rest follows the names.
function stateBar(states, whole, rest) {
  if (!states.length) return [];
  const texts = states.map((s) => `${s.state} ${amount(s, whole)}`);
  return [h('div', { class: 'parts', 'aria-hidden': 'true' }, states.map((s, n) => {
    const i = stateSpot(s.state);
    i.style.flexBasis = `${s.ns / whole * 100}%`;
    i.title = texts[n];
    return i;
  })), h('p', { class: 'keys', title: '\u00b1 is the standard error, by the number of samples' }, states.map((s, n) => h('span', { title: s.source }, stateSpot(s.state), texts[n])), rest)];
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

// attributeTable lists all attributes of a span, each with links to other spans with it.
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

// dot marks a span that has samples, or may get some.
function dot(s) {
  const [cls, meaning] = s.samplesHeld > 0 ? ['full', 'has a profile'] : s.cpuSamples > 0 ? [] : !s.complete ? ['open', 'its samples are not in yet'] : s.cpuInclusiveNs > s.cpuNs ? ['full', 'spans below it have profiles'] : [];
  return h('span', { class: `dot ${cls ?? ''}`, title: meaning }, meaning && h('span', { class: 'sr' }, meaning));
}

const ended = (s) => new Date(new Date(s.start).getTime() + s.durationNs / 1e6);

// spanRow is a span in the list; most is as long as a whole bar. toggle unfolds a request, or is null.
export function spanRow(s, { many, ranged, toggle, attributes, now, most }) {
  const inclusive = s.cpuInclusiveNs > s.cpuNs ? duration(s.cpuInclusiveNs) : null;
  // Of a request all its work counts.
  const whole = s.below > 0 && inclusive;
  const what = h('div', { class: 'what' },
      toggle ?? h('i', { hidden: true }), // Updates keep what stays in its place.
      dot(s),
      h('a', { class: 'name', href: link('', { query: s.query, ...(ranged && range()) }), 'data-id': s.profileId, title: spanTitle(s) }, spanTitle(s)),
      s.kind && h('span', { class: 'tag kind', title: 'Spans of several kinds have this name' }, s.kind),
      s.err && h('span', { class: 'tag err', title: s.status }, 'error'),
      s.manual && h('span', { class: 'tag', title: 'work under a profile_id label of its own, without a span' }, 'manual'),
      s.earlier && earlierTag(),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival()),
      s.cpuAfterEndNs && h('span', { class: 'tag', title: 'CPU time after its end, in goroutines that it had started: in no other number here' }, `+${duration(s.cpuAfterEndNs)} after its end`),
      many && h('span', { class: 'muted service' }, s.service));
  if (s.depth) what.style.paddingLeft = `${s.depth * 18}px`;
  return h('tr', { class: s.depth > 0 && 'below' },
    h('td', null, what, s.status && h('div', { class: 'attributes failed', title: s.status }, s.status), attributeLine(s, attributes)),
    s.running ? h('td', { class: 'when' }, 'running')
      : h('td', { class: 'when', title: ended(s).toISOString() }, h('span', null, ago(ended(s), now)), h('span', { class: 'muted clock' }, time(ended(s)))),
    h('td', { class: 'bars' }, bar((wall(s) ?? 0) / most, 'wall'), bar((s.below > 0 ? s.cpuInclusiveNs : s.cpuNs) / most, 'cpu')),
    h('td', { class: 'num', 'data-label': 'wall' }, wall(s) == null ? '\u2013' : duration(wall(s))),
    h('td', { class: 'num', 'data-label': 'CPU', title: whole ? `of itself ${duration(s.cpuNs)}` : inclusive && `with its children ${inclusive}` },
      whole || (s.cpuSamples ? duration(s.cpuNs) : inclusive ? h('span', { class: 'muted' }, `(${inclusive})`) : '\u2013')),
    h('td', { class: 'num', 'data-label': 'samples' }, ranged ? '\u2013' : s.cpuSamples.toLocaleString('en')));
}

// differing has the attributes in which spans of one name differ, by the id of the span. A running
// span lacks some. A span alone of its name has all.
export function differing(spans) {
  const byName = new Map();
  for (const s of spans) byName.set(s.name, [...byName.get(s.name) ?? [], s]);
  const result = new Map();
  for (const same of byName.values()) {
    const ended = same.filter((s) => !s.running);
    const counts = new Map();
    for (const a of ended.flatMap((s) => s.attributes ?? [])) counts.set(written(a), (counts.get(written(a)) ?? 0) + 1);
    for (const s of same) result.set(s.profileId, (s.attributes ?? []).filter((a) => ended.length < 2 || counts.get(written(a)) !== ended.length));
  }
  return result;
}

const written = (a) => `${a.key} = ${a.value}${a.child ? ` (${a.child})` : ''}`;

// attributeLine is a line with the attributes of a span, except those that its name has.
export function attributeLine(s, of = s.attributes ?? []) {
  const list = of.filter((a) => !s.name.includes(a.value));
  if (!list.length) return null;
  return h('div', { class: 'attributes', title: list.map(written).join('\n') }, list.map((a) => h('span', null, h('span', { class: 'muted' }, `${a.key} `), a.value)));
}

// LIMIT is the number of spans to unfold.
const LIMIT = 200;

// unfolding keeps the spans below unfolded spans of a list, as the server has them.
export function unfolding(changed) {
  const open = new Map(); // by id: {spans, of}
  const load = async (s) => {
    const answer = await get(link('', { below: s.profileId, limit: LIMIT, format: 'json' }));
    if (open.has(s.profileId)) open.set(s.profileId, { spans: nested(answer.spans).map(([child, depth]) => ({ ...child, depth: depth + 1 })), of: s.below });
    changed();
  };
  return {
    // toggle is the button of a row; null where nothing is below its span.
    toggle(s) {
      if (!s.below) return null;
      const shown = open.has(s.profileId);
      return button(shown ? '\u25be' : '\u25b8', () => {
        if (open.delete(s.profileId)) {
          changed();
          return;
        }
        open.set(s.profileId, { spans: [], of: 0 });
        load(s).catch(() => { open.delete(s.profileId); changed(); });
      }, { class: 'tiny fold', 'aria-expanded': String(shown), 'aria-label': `${count(s.below, 'span')} below`, title: `${count(s.below, 'span')} below it` });
    },
    // below returns the spans to show below s, each with its depth.
    below(s) {
      const kept = open.get(s.profileId);
      if (!kept) return [];
      if (kept.of && s.below !== kept.of) {
        kept.of = s.below;
        load(s).catch(() => {});
      }
      return kept.spans;
    },
    // rest returns how many more spans are below s than below returns.
    rest(s) {
      const shown = open.get(s.profileId)?.spans.length ?? 0;
      return shown < LIMIT ? 0 : Math.max(0, s.below - shown);
    },
  };
}

// restRow leads to the list of all spans below s; n are not shown here.
export const restRow = (s, n) => h('tr', { class: 'below' }, h('td', { colspan: 6 }, h('div', { class: 'what' }, h('a', { href: link('', { below: s.profileId }) }, `and ${count(n, 'more span')} below it`))));
