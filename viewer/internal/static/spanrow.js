// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link, range } from './api.js';
import { attributeLine } from './attributes.js';
import { bar, fill, h } from './dom.js';
import { ago, duration, spanTitle, time, wall } from './format.js';
import { earlierTag } from './earlier.js';
import { arrival } from './status.js';

// MISSING is why a span has no samples, by its coverage.
const MISSING = { whole: 'no sample hit it', partial: 'no sample hit it; CPU was not profiled all the time', none: 'CPU was not profiled', evicted: 'its profile was evicted' };

// mark returns [class, meaning] of whether a span has a profile.
function mark(s) {
  if (s.samplesHeld > 0) return ['full', 'has a profile'];
  if (s.cpuSamples > 0) return ['none', MISSING.evicted];
  if (!s.complete) return ['open', 'its samples are not in yet'];
  if (s.cpuInclusiveNs > s.cpuNs) return ['full', 'spans below it have profiles'];
  return ['none', MISSING[s.coverage]];
}

const ended = (s) => new Date(new Date(s.start).getTime() + s.durationNs / 1e6);

// spanRow is a span in the list; tell writes what depends on other spans and on the time.
// Of what is ranged the number of samples is not known. toggle is what unfolds a request,
// or null.
export function spanRow(s, manyServices, ranged, toggle) {
  const [cls, meaning] = mark(s);
  const inclusive = s.cpuInclusiveNs > s.cpuNs ? duration(s.cpuInclusiveNs) : null;
  // Of a request all its work counts.
  const whole = s.below > 0 && inclusive;
  const what = h('div', { class: 'what' },
      toggle ?? h('i', { hidden: true }), // Updates keep what stays in its place.
      h('span', { class: `dot ${cls}`, title: meaning }, h('span', { class: 'sr' }, meaning)),
      h('a', { class: 'name', href: link('', { query: s.query, ...(ranged && range()) }), 'data-id': s.profileId, title: spanTitle(s) }, spanTitle(s)),
      s.err && h('span', { class: 'tag err', title: s.status }, 'error'),
      s.manual && h('span', { class: 'tag', title: 'work under a profile_id label of its own, without a span' }, 'manual'),
      s.earlier && earlierTag(s.earlier),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival()),
      s.afterEnd && h('span', { class: 'tag after-end', title: 'CPU time after its end, in goroutines that it had started: in no other number here' }, `+${duration(s.afterEnd.cpuNs)} after its end`),
      manyServices && h('span', { class: 'muted service' }, s.service));
  if (s.depth) what.style.paddingLeft = `${s.depth * 18}px`;
  return h('tr', { class: [s.err && 'err', s.depth && 'below'].filter(Boolean).join(' ') || null },
    h('td', null, what, s.status && h('div', { class: 'attributes failed', title: s.status }, s.status), attributeLine(s)),
    s.running ? h('td', { class: 'when' }, 'running')
      : h('td', { class: 'when', title: ended(s).toISOString() }, h('span', { class: 'since' }), h('span', { class: 'muted clock' }, time(ended(s)))),
    h('td', { class: 'bars' }, bar(0, 'wall'), bar(0, 'cpu')),
    h('td', { class: 'num', 'data-label': 'wall' }, wall(s) == null ? '\u2013' : duration(wall(s))),
    h('td', { class: 'num', 'data-label': 'CPU', title: whole ? `of itself ${duration(s.cpuNs)}` : inclusive && `with its children ${inclusive}` },
      whole || (s.cpuSamples ? duration(s.cpuNs) : inclusive ? h('span', { class: 'muted' }, `(${inclusive})`) : '\u2013')),
    h('td', { class: 'num', 'data-label': 'samples' }, ranged ? '\u2013' : s.cpuSamples.toLocaleString('en')));
}

// tell writes how long ago the span of a row ended. It draws its bars: most is the whole width.
export function tell(row, s, now, most) {
  const since = row.querySelector('.since');
  const text = ago(ended(s), now);
  if (since && since.textContent !== text) since.textContent = text;
  const [wallBar, cpuBar] = row.querySelectorAll('.bar i');
  fill(wallBar, (wall(s) ?? 0) / most);
  fill(cpuBar, (s.below > 0 ? s.cpuInclusiveNs : s.cpuNs) / most);
}
