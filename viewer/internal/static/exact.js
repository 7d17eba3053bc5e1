// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { isFrozen, link, range } from './api.js';
import { h, linkButton } from './dom.js';
import { bareName, count, duration, percent, shortName } from './format.js';
import { colourOf } from './span.js';
import { started } from './trace.js';

// CLOCKS is by how much the clocks of a span and of a trace may differ, in ms.
const CLOCKS = 1;

const MOST = { lanes: 24, waits: 40, did: 3 };

// exactView shows where the time of a span went, by an execution trace.
export function exactView(data) {
  const x = data.span.exactTimes;
  return h('div', { class: 'exact' },
    ...notes(data.span, x).flat(),
    h('h3', null, 'Its waits'), waitsTable(data, x), x.waits.length > 0 && download(data),
    h('h3', null, 'Its goroutines'), lanes(x));
}

const EXACT = 'By an execution trace of Go: exact, not sampled. Running is time on a thread, with the time that the operating system gave to other processes.';

// download gives the waits to go tool pprof.
function download(data) {
  const selected = { query: data.query, ...range() };
  return isFrozen ? null : h('div', { class: 'actions' }, linkButton('Download waits as pprof', link('waits', selected), { download: true }));
}

function notes(span, x) {
  const other = Math.abs(Date.parse(x.start) - started(span)) > CLOCKS || Math.abs(x.durationNs - span.durationNs) > CLOCKS * 1e6;
  return [
    h('p', { class: 'muted' }, EXACT),
    other && h('p', { class: 'note' }, `By the trace it took ${duration(x.durationNs)}: the program gave the span other times.`),
    x.open && h('p', { class: 'note' }, 'The recording ends before the span does.'),
    (x.holes ?? []).map((hole) => h('p', { class: 'muted' }, `${hole.durationNs > 0 ? `${duration(hole.durationNs)}: ` : ''}${hole.reason}`)),
    x.omitted && h('p', { class: 'note' }, 'There is more than is kept of a span: the lists below are cut.'),
  ];
}

// place puts an element where a time is in a whole, in the colour of its state.
function place(state, from, length, whole, title) {
  const el = h('i', { class: state ? null : 'extent', title });
  if (state) el.style.background = colourOf(state);
  el.style.left = `${from / whole * 100}%`;
  el.style.width = `${length / whole * 100}%`;
  return el;
}

// frame is the innermost call of a stack that people know: not of the runtime, or of
// package sync.
export const frame = (stack) => stack?.find((f) => !/^(runtime|sync|syscall|internal\/.*)\.|^time\.Sleep/.test(f.func)) ?? stack?.[0];

const fileLine = (f) => `${f.file.slice(f.file.lastIndexOf('/') + 1)}:${f.line}`;

function where(stack) {
  const f = frame(stack);
  if (!f) return h('span', { class: 'muted' }, 'not known');
  const name = [h('span', { class: 'fn', title: f.func }, shortName(f.func)), h('span', { class: 'muted' }, ` ${fileLine(f)}`)];
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

// blockers are the last two cells of a wait: those that it was for, in the order in which
// they waited for each other.
function blockers(data, w) {
  const list = (w.blockers ?? []).filter((by, i) => i === 0 || by.durationNs * 100 >= w.durationNs);
  return [h('td', null, list.map((by) => h('p', null, spanLink(data, by)))), h('td', null, list.map((by) => h('p', null, did(by.did) || '\u2013')))];
}

// label names a goroutine, or a step on one, by the child span that it worked for.
function label(x, child, id, fn) {
  const what = child || (id === x.goroutines[0]?.id ? 'the span' : fn ? bareName(fn) : 'no child span');
  return `${what} \u00b7 goroutine ${id}`;
}

// lanes has a row for each goroutine, under the child span that it worked for.
function lanes(x) {
  const shown = x.goroutines.slice(0, MOST.lanes);
  const more = x.goroutines.length - shown.length + (x.goroutinesOmitted ?? 0);
  if (!shown.length) return h('p', { class: 'muted' }, 'Unknown.');
  return [
    h('ol', { class: 'lanes' }, shown.map((g) => {
      const text = g.states.map((s) => `${s.state} ${duration(s.durationNs)}`).join(', ');
      return h('li', null,
        h('span', { class: 'who', title: g.function }, label(x, g.child, g.id, g.function), text && h('span', { class: 'sr' }, `: ${text}`)),
        h('span', { class: 'track', 'aria-hidden': 'true', title: text },
          place('', g.startNs, g.endNs - g.startNs, x.durationNs),
          (g.intervals ?? []).map((v) => place(v.state, v.startNs, v.durationNs, x.durationNs, `${v.state} ${duration(v.durationNs)}`))));
    })),
    more > 0 && h('p', { class: 'muted' }, `and ${count(more, 'goroutine')} more`),
  ];
}
