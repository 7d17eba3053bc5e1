// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { h } from './dom.js';
import { count, duration, spanTitle, wall } from './format.js';
import { lane, laneText, started, unplaced } from './lane.js';

// traceList shows when the spans of the same trace ran that have profiles of their own. A
// span that is alone has a lane of its own where it is known when it was on a CPU.
export function traceList(data) {
  const { span } = data;
  if (!data.trace && span?.cpuTimes) return h('section', { class: 'card trace', 'aria-label': 'When it was on a CPU' }, lanes([span], span), legend([span]));
  if (!data.trace) return null;
  const worked = data.trace.filter((s) => s.cpuSamples > 0);
  const [type, profiled] = worked.length ? ['cpu', worked] : ['wall', data.trace.filter((s) => s.wallSamples > 0)];
  return h('details', { class: 'card trace', open: data.trace.length <= 12 },
    h('summary', null, h('h2', null, 'Its trace'), h('span', { class: 'muted' }, `${count(data.trace.length + (data.traceOmitted ?? 0), 'span')} with profiles of their own`)),
    lanes(data.trace, span),
    legend(data.trace),
    profiled.length > 1 && h('p', null, h('a', { href: link('', { query: `.${type}{trace_id=${JSON.stringify(span.traceId)}}` }) }, 'Flame graph of the whole trace')),
    data.traceOmitted && h('p', { class: 'muted' }, `and ${count(data.traceOmitted, 'span')} more`));
}

// lanes has a row for each span, all in the same time.
function lanes(spans, current) {
  const first = Math.min(...spans.map(started));
  const last = Math.max(...spans.map((s) => started(s) + s.durationNs / 1e6), first + 1e-6);
  const depths = new Map();
  // Parents start before their children, so they come first.
  for (const s of spans) depths.set(s.profileId, Math.min(12, (depths.get(s.parentId) ?? -1) + 1));
  const indent = (el, s) => {
    el.style.paddingLeft = `${depths.get(s.profileId) * 14}px`;
    return el;
  };
  return h('ol', null, spans.map((s) => h('li', { 'aria-current': spans.length > 1 && s.profileId === current.profileId && 'true' },
    indent(h('a', { class: 'name', href: link('', { query: s.query }), title: spanTitle(s) }, spanTitle(s)), s),
    lane(s, first, last),
    h('span', { class: 'num muted' }, `${wall(s) == null ? '\u2013' : duration(s.durationNs)} \u00b7 ${s.cpuSamples ? duration(s.cpuNs) : '\u2013'}`, laneText(s) && h('span', { class: 'sr' }, `, ${laneText(s)}`)))));
}

// legend says what the colours of lanes mean, if there are any.
function legend(spans) {
  const placed = spans.some((s) => s.cpuTimes);
  const pale = spans.some((s) => unplaced(s) > 0);
  if (!placed && !pale) return null;
  return h('p', { class: 'muted legend' }, h('span', { class: 'key' }, 'wall time'),
    placed && h('span', { class: 'key cpu' }, 'on a CPU, as samples were taken'),
    pale && h('span', { class: 'key cpu pale' }, 'CPU time somewhere in it'));
}
