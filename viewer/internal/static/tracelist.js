// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { h } from './dom.js';
import { count, duration, spanTitle, wall } from './format.js';

// traceList shows when the spans of the same trace ran that have profiles of their own.
export function traceList(data) {
  if (!data.trace) return null;
  const start = (s) => new Date(s.start).getTime();
  const first = Math.min(...data.trace.map(start));
  const last = Math.max(...data.trace.map((s) => start(s) + s.durationNs / 1e6), first + 1e-6);
  const place = (el, from, to) => {
    el.style.left = `${(from - first) / (last - first) * 100}%`;
    el.style.width = `max(2px, ${(to - from) / (last - first) * 100}%)`;
    return el;
  };
  const depths = new Map();
  // Parents start before their children, so they come first.
  for (const s of data.trace) depths.set(s.profileId, Math.min(12, (depths.get(s.parentId) ?? -1) + 1));
  const indent = (el, s) => {
    el.style.paddingLeft = `${depths.get(s.profileId) * 14}px`;
    return el;
  };
  const worked = data.trace.filter((s) => s.cpuSamples > 0);
  const [type, profiled] = worked.length ? ['cpu', worked] : ['wall', data.trace.filter((s) => s.wallSamples > 0)];
  return h('details', { class: 'card trace', open: data.trace.length <= 12 },
    h('summary', null, h('h2', null, 'Its trace'), h('span', { class: 'muted' }, `${count(data.trace.length + (data.traceOmitted ?? 0), 'span')} with profiles of their own`)),
    h('ol', null, data.trace.map((s) => h('li', { 'aria-current': s.profileId === data.span.profileId && 'true' },
      indent(h('a', { class: 'name', href: link('', { query: s.query }), title: spanTitle(s) }, spanTitle(s)), s),
      h('span', { class: 'lane', 'aria-hidden': 'true' },
        place(h('i', { class: 'wall' }), start(s), start(s) + s.durationNs / 1e6),
        s.cpuSamples > 0 && place(h('i', { class: 'cpu' }), start(s), start(s) + Math.min(s.cpuNs, s.durationNs) / 1e6)),
      h('span', { class: 'num muted' }, `${wall(s) == null ? '\u2013' : duration(s.durationNs)} \u00b7 ${s.cpuSamples ? duration(s.cpuNs) : '\u2013'}`)))),
    profiled.length > 1 && h('p', null, h('a', { href: link('', { query: `.${type}{trace_id=${JSON.stringify(data.span.traceId)}}` }) }, 'Flame graph of the whole trace')),
    data.traceOmitted && h('p', { class: 'muted' }, `and ${count(data.traceOmitted, 'span')} more`));
}
