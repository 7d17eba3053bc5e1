// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { isFrozen, link, range } from './api.js';
import { h, linkButton } from './dom.js';
import { bareName, capital, count, duration, percent, shortName, spanTitle, wall } from './format.js';

// traceList shows when the spans of a trace ran.
export function traceList(data) {
  const { span } = data;
  if (!data.trace) return null;
  const worked = data.trace.filter((s) => s.cpuSamples > 0);
  const [type, profiled] = worked.length ? ['cpu', worked] : ['wall', data.trace.filter((s) => s.wallSamples > 0)];
  return h('section', { class: 'card trace' },
    h('div', null, h('h2', null, 'Its trace'), h('span', { class: 'muted' }, `${count(data.traceSpans, 'span')} with profiles of their own${data.traceSpans > data.trace.length ? `, here the first ${data.trace.length}` : ''}, `), h('a', { href: link('', { trace: span.traceId }) }, 'as a list')),
    lanes(data.trace, span),
    legend(data.trace),
    profiled.length > 1 && !data.ranged && h('p', null, h('a', { href: link('', { query: `.${type}{trace_id=${JSON.stringify(span.traceId)}}` }) }, 'Flame graph of the whole trace')));
}

// nested returns spans with their depths: each after its parent, children by their start.
export function nested(spans) {
  const ids = new Set(spans.map((s) => s.profileId));
  const below = new Map();
  for (const s of spans) {
    const parent = ids.has(s.parentId) && s.parentId !== s.profileId ? s.parentId : '';
    below.set(parent, [...below.get(parent) ?? [], s]);
  }
  const list = [];
  const add = (id, depth) => {
    const found = below.get(id) ?? [];
    below.delete(id); // Parent ids may form a circle.
    for (const s of found.sort((a, b) => started(a) - started(b))) {
      list.push([s, Math.min(12, depth)]);
      add(s.profileId, depth + 1);
    }
  };
  add('', 0);
  for (const [id] of [...below]) add(id, 0);
  return list;
}

// lanes has a row for each span, all in the same time.
function lanes(spans, current) {
  const first = Math.min(...spans.map(started));
  const last = Math.max(...spans.map((s) => started(s) + (s.durationNs + (s.cpuAfterEndNs ?? 0)) / 1e6), first + 1e-6);
  const indent = (el, depth) => {
    el.style.paddingLeft = `${depth * 14}px`;
    return el;
  };
  return [
    h('div', { class: 'axis muted', 'aria-hidden': 'true' }, h('span'), h('span', null, [0, 1, 2, 3, 4].map((i) => h('span', null, duration((last - first) * 1e6 * i / 4)))), h('span')),
    h('ol', null, nested(spans).map(([s, depth]) => h('li', { 'aria-current': spans.length > 1 && s.profileId === current.profileId && 'true' },
      indent(h('a', { class: 'name', href: link('', { query: s.query }), title: spanTitle(s) }, spanTitle(s)), depth),
      lane(s, first, last),
      h('span', { class: 'num muted' }, `${wall(s) == null ? '\u2013' : duration(s.durationNs)} \u00b7 ${s.cpuSamples ? duration(s.cpuNs) : '\u2013'}`))))];
}

// legend has the meanings of the colours of lanes.
function legend(spans) {
  const worked = spans.some((s) => s.cpuSamples > 0);
  const late = spans.some((s) => s.cpuAfterEndNs);
  if (!worked && !late) return null;
  return h('p', { class: 'muted legend' }, h('span', { class: 'key' }, 'wall time'),
    worked && h('span', { class: 'key cpu' }, 'CPU time: its share by the height'),
    late && h('span', { class: 'key late' }, 'CPU time after its end'));
}

// started returns when a span started in ms; a Date has whole ones only.
export function started(s) {
  const below = /\.\d{3}(\d*)/.exec(s.start)?.[1];
  return new Date(s.start).getTime() + (below ? Number(`0.${below}`) : 0);
}

const HEIGHT = 8; // of a bar in a lane, in pixels

// lane draws when a span ran between two times in ms. It is filled from below by the share of its CPU
// time, for which no time is known.
function lane(s, first, last) {
  const start = started(s);
  const place = (cls, from, to) => {
    const el = h('i', { class: cls });
    el.style.left = `${(start + from / 1e6 - first) / (last - first) * 100}%`;
    el.style.width = `max(2px, ${(to - from) / 1e6 / (last - first) * 100}%)`;
    return el;
  };
  const cpu = s.cpuSamples > 0 && place('cpu', 0, s.durationNs);
  if (cpu) cpu.style.height = `max(1px, ${Math.min(1, s.cpuNs / s.durationNs) * HEIGHT}px)`;
  return h('span', { class: 'lane', 'aria-hidden': 'true' },
    place('wall', 0, s.durationNs), cpu,
    s.cpuAfterEndNs && place('late', s.durationNs, s.durationNs + s.cpuAfterEndNs));
}

// CLOCKS is by how much the clocks of a span and of a trace may differ, in ms.
const CLOCKS = 1;

const MOST = { lanes: 24, waits: 40, did: 3 };

// exactView shows where the time of a span went, by an execution trace.
export function exactView(data) {
  const x = data.span.exactTimes;
  return h('div', { class: 'exact' },
    ...notes(data.span, x).flat(),
    h('h3', null, 'Its time'), timeTable(data),
    h('h3', null, 'Its waits'), waitsTable(data, x), x.waits.length > 0 && !isFrozen && h('div', { class: 'actions' }, linkButton('Download waits as pprof', link('waits', { query: data.query, ...range() }), { download: true })),
    h('h3', null, 'Its goroutines'), goroutines(x));
}

// timeTable has the states of a span, which add up to its duration, with the spans that it waited for.
function timeTable(data) {
  const { states, blockers = [], allocated } = data.answer ?? { states: [] };
  const row = (s, text) => h('tr', null,
    h('td', { class: 'num' }, duration(s.ns), s.errorNs > 0 && ` \u00b1 ${duration(s.errorNs)}`),
    h('td', { class: 'num' }, percent(s.ns / data.span.durationNs)), h('td', s.span && { class: 'by' }, text));
  return [
    h('table', { class: 'durations' }, h('tbody', null, states.flatMap((s) => [row(s, s.state),
      ...blockers.filter((by) => by.state === s.state).map((by) => row(by, [h('span', { class: 'muted' }, 'by '), spanLink(data, by)]))]))),
    allocated && h('p', null, capital(allocated)),
  ];
}

function notes(span, x) {
  const other = Math.abs(Date.parse(x.start) - started(span)) > CLOCKS || Math.abs(x.durationNs - span.durationNs) > CLOCKS * 1e6;
  return [
    h('p', { class: 'muted' }, 'By an execution trace of Go: exact, not sampled. Running is time on a thread, with the time that the operating system gave to other processes.'),
    other && h('p', { class: 'note' }, `By the trace it took ${duration(x.durationNs)}: the program gave the span other times.`),
    x.open && h('p', { class: 'note' }, 'The recording ends before the span does.'),
    (x.holes ?? []).map((hole) => h('p', { class: 'muted' }, `${hole.durationNs > 0 ? `${duration(hole.durationNs)}: ` : ''}${hole.reason}`)),
    x.omitted && h('p', { class: 'note' }, 'There is more than is kept of a span: the lists below are cut.'),
  ];
}

// extent is the time of a goroutine in its span.
function extent(g, whole) {
  const el = h('i');
  el.style.left = `${g.startNs / whole * 100}%`;
  el.style.width = `${(g.endNs - g.startNs) / whole * 100}%`;
  return el;
}

// frame is the innermost call outside of the runtime and package sync.
export const frame = (stack) => stack?.find((f) => !/^(runtime|sync|syscall|internal\/.*)\.|^time\.Sleep/.test(f.func)) ?? stack?.[0];

function where(stack) {
  const f = frame(stack);
  if (!f) return h('span', { class: 'muted' }, 'not known');
  const name = [h('span', { class: 'fn', title: f.func }, shortName(f.func)), h('span', { class: 'muted' }, ` ${f.file.slice(f.file.lastIndexOf('/') + 1)}:${f.line}`)];
  if (stack.length < 2) return name;
  return h('details', null, h('summary', null, name), h('pre', null, stack.map((s) => `${s.func}\n    ${s.file}:${s.line}`).join('\n')));
}

// did lists the states of a blocker meanwhile.
export function did(list) {
  const verbs = { running: 'ran', runnable: 'was ready to run for', sleep: 'slept', syscall: 'was in a system call for', cgo: 'was in C code for' };
  return list.filter((d, i) => i < MOST.did && d.durationNs * 100 >= list[0].durationNs)
    .map((d) => `${verbs[d.state] ?? `waited (${d.state})`} ${duration(d.durationNs)}${d.child ? ` in ${d.child}` : ''}`).join(', ');
}

// spanLink leads to the same tab of another span.
function spanLink(data, by) {
  if (by.same) return 'this span';
  if (!by.span) return h('span', { class: 'muted' }, by.function ? `no span (${bareName(by.function)})` : 'no span');
  if (!by.spanId) return by.span;
  const query = `${data.query.replace(/\{.*/s, '')}{profile_id=${JSON.stringify(by.spanId)}}`;
  return h('a', { class: 'name', href: link('', { query, view: 'time' }) }, by.span);
}

function waitsTable(data, x) {
  if (!x.waits.length) return h('p', { class: 'muted' }, x.goroutines.length ? 'It waited for nothing.' : 'Unknown.');
  const more = x.waits.length - Math.min(x.waits.length, MOST.waits) + (x.waitsOmitted ?? 0);
  return [
    h('div', { class: 'scroll' }, h('table', { class: 'waits' },
      h('thead', null, h('tr', null, h('th', { scope: 'col', class: 'num' }, 'Time'), ['Waited for', 'Where', 'Ended by', 'Of span', 'Which meanwhile'].map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', null, x.waits.slice(0, MOST.waits).map((w) => h('tr', null,
        h('td', { class: 'num', title: percent(w.durationNs / x.durationNs) }, duration(w.durationNs)),
        h('td', null, w.state, w.count > 1 && h('span', { class: 'muted' }, ` ${count(w.count, 'time')}`), w.child && h('span', { class: 'muted' }, ` in ${w.child}`)),
        h('td', null, where(w.stack)),
        h('td', null, w.ended && where(w.ended), w.blockers?.[0] && h('span', { class: 'muted' }, `goroutine ${w.blockers[0].goroutine}`)),
        ...blockers(data, w)))))),
    more > 0 && h('p', { class: 'muted' }, `and ${count(more, 'wait')} more`),
  ];
}

// blockers are the last two cells of a wait: what it was for, in the order of the waits.
function blockers(data, w) {
  const list = (w.blockers ?? []).filter((by, i) => i === 0 || by.durationNs * 100 >= w.durationNs);
  return [h('td', null, list.map((by) => h('p', null, spanLink(data, by)))), h('td', null, list.map((by) => h('p', null, did(by.did) || '\u2013')))];
}

// goroutines has a row for each goroutine, with the child span that it worked for.
function goroutines(x) {
  const shown = x.goroutines.slice(0, MOST.lanes);
  const more = x.goroutines.length - shown.length + (x.goroutinesOmitted ?? 0);
  if (!shown.length) return h('p', { class: 'muted' }, 'Unknown.');
  return [
    h('ol', { class: 'lanes' }, shown.map((g) => {
      const text = g.states.map((s) => `${s.state} ${duration(s.durationNs)}`).join(', ');
      const what = g.child || (g === shown[0] ? 'the span' : g.function ? bareName(g.function) : 'no child span');
      return h('li', null,
        h('span', { class: 'of', title: g.function }, `${what} \u00b7 goroutine ${g.id}`, text && h('span', { class: 'sr' }, `: ${text}`)),
        h('span', { class: 'track', 'aria-hidden': 'true', title: text },
          extent(g, x.durationNs)));
    })),
    more > 0 && h('p', { class: 'muted' }, `and ${count(more, 'goroutine')} more`),
  ];
}
