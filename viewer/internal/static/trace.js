// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { h } from './dom.js';
import { count, duration, spanTitle, wall } from './format.js';

// traceList shows when the spans of the trace ran that have profiles of their own. A single span
// has a lane if the times of its samples are known.
export function traceList(data) {
  const { span } = data;
  if (!data.trace && span?.cpuTimes) return h('section', { class: 'card trace', 'aria-label': 'When it was on a CPU' }, lanes([span], span), legend([span]));
  if (!data.trace) return null;
  const worked = data.trace.filter((s) => s.cpuSamples > 0);
  const [type, profiled] = worked.length ? ['cpu', worked] : ['wall', data.trace.filter((s) => s.wallSamples > 0)];
  return h('section', { class: 'card trace' },
    h('div', null, h('h2', null, 'Its trace'), h('span', { class: 'muted' }, `${count(data.trace.length + (data.traceOmitted ?? 0), 'span')} with profiles of their own, `), h('a', { href: link('', { trace: span.traceId }) }, 'as a list')),
    lanes(data.trace, span),
    legend(data.trace),
    profiled.length > 1 && h('p', null, h('a', { href: link('', { query: `.${type}{trace_id=${JSON.stringify(span.traceId)}}` }) }, 'Flame graph of the whole trace')),
    data.traceOmitted && h('p', { class: 'muted' }, `and ${count(data.traceOmitted, 'span')} more`));
}

// nested returns spans with their depths: each after its parent, and children in the order of their
// start.
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
  const last = Math.max(...spans.map((s) => started(s) + (s.durationNs + (s.afterEnd?.cpuNs ?? 0)) / 1e6), first + 1e-6);
  const indent = (el, depth) => {
    el.style.paddingLeft = `${depth * 14}px`;
    return el;
  };
  return [
    h('div', { class: 'axis muted', 'aria-hidden': 'true' }, h('span'), h('span', null, [0, 1, 2, 3, 4].map((i) => h('span', null, duration((last - first) * 1e6 * i / 4)))), h('span')),
    h('ol', null, nested(spans).map(([s, depth]) => h('li', { 'aria-current': spans.length > 1 && s.profileId === current.profileId && 'true' },
      indent(h('a', { class: 'name', href: link('', { query: s.query }), title: spanTitle(s) }, spanTitle(s)), depth),
      lane(s, first, last),
      h('span', { class: 'num muted' }, `${wall(s) == null ? '\u2013' : duration(s.durationNs)} \u00b7 ${s.cpuSamples ? duration(s.cpuNs) : '\u2013'}`, laneText(s) && h('span', { class: 'sr' }, `, ${laneText(s)}`)))))];
}

// legend has the meanings of the colours of lanes.
function legend(spans) {
  const placed = spans.some((s) => s.cpuTimes);
  const pale = spans.some((s) => unplaced(s) > 0);
  const late = spans.some((s) => s.afterEnd);
  if (!placed && !pale && !late) return null;
  return h('p', { class: 'muted legend' }, h('span', { class: 'key' }, 'wall time'),
    placed && h('span', { class: 'key cpu' }, 'on a CPU, as samples were taken'),
    pale && h('span', { class: 'key cpu pale' }, 'CPU time somewhere in it'),
    late && h('span', { class: 'key late' }, 'CPU time after its end: how much, not when'));
}

// started returns when a span started in ms; a Date has whole ones only.
export function started(s) {
  const below = /\.\d{3}(\d*)/.exec(s.start)?.[1];
  return new Date(s.start).getTime() + (below ? Number(`0.${below}`) : 0);
}

// lane draws when a span ran, and when it was on a CPU, between two times in ms.
export function lane(s, first, last) {
  const start = started(s);
  const place = (cls, from, to) => {
    const el = h('i', { class: cls });
    el.style.left = `${(start + from / 1e6 - first) / (last - first) * 100}%`;
    el.style.width = `max(2px, ${(to - from) / 1e6 / (last - first) * 100}%)`;
    return el;
  };
  const pale = unplaced(s) > 0 && place('cpu pale', 0, s.durationNs);
  if (pale) pale.style.opacity = Math.max(0.15, Math.min(0.6, unplaced(s) / s.durationNs));
  return h('span', { class: 'lane', 'aria-hidden': 'true', title: laneText(s) },
    place('wall', 0, s.durationNs), pale, busy(s).map(([from, to]) => place('cpu', from, to)),
    s.afterEnd && place('late', s.durationNs, s.durationNs + s.afterEnd.cpuNs));
}

// laneText is a lane in words.
export function laneText(s) {
  const parts = busy(s);
  const where = parts.length && `between ${duration(parts[0][0])} and ${duration(parts.at(-1)[1])} after its start`;
  return [parts.length ? `on a CPU ${parts.length > 1 ? `in ${count(parts.length, 'part')}, ${where}` : where}` : s.cpuSamples && `${duration(s.cpuNs)} on a CPU at unknown times`,
    s.afterEnd && `${duration(s.afterEnd.cpuNs)} of CPU time after its end`].filter(Boolean).join(', ');
}

// busy returns the times of a span on a CPU, in order and in ns after its start. A
// sample stands for CPU time before it.
function busy(s) {
  const parts = [];
  for (const [at, cpu, n] of s.cpuTimes ?? []) {
    const from = Math.max(0, at - cpu / n);
    // Samples that are one entry were taken within a 200th of the span.
    const to = Math.min(s.durationNs, Math.max(at, Math.min(from + cpu, at + s.durationNs / 200)));
    const before = parts.at(-1);
    if (before && from <= before[1]) before[1] = Math.max(before[1], to);
    else parts.push([from, to]);
  }
  return parts;
}

// unplaced returns a span's CPU time without known moments.
export const unplaced = (s) => s.cpuSamples > 0 && Math.max(0, s.cpuNs - (s.cpuTimes ?? []).reduce((sum, [, cpu]) => sum + cpu, 0));
