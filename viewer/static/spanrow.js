// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { bar, h } from './dom.js';
import { ago, duration, spanTitle, time, wall } from './format.js';
import { arrival } from './status.js';

// MISSING is why a span has no samples, by its coverage.
const MISSING = { whole: 'no sample hit it', partial: 'no sample hit it; CPU was not profiled all the time', none: 'CPU was not profiled', evicted: 'its profile made room for newer ones' };

// mark says whether a span has a profile: [class, meaning].
function mark(s) {
  if (s.samplesHeld > 0) return ['full', 'has a profile'];
  if (s.cpuSamples > 0) return ['none', MISSING.evicted];
  if (!s.complete) return ['open', 'its samples are not in yet'];
  return ['none', MISSING[s.coverage]];
}

// spanRow is a span in the list, and what tells how long ago it ended. most is
// the longest time in the list, for the bars.
export function spanRow(s, most, manyServices) {
  const ended = new Date(new Date(s.start).getTime() + s.durationNs / 1e6);
  const [cls, meaning] = mark(s);
  const since = h('span');
  const element = h('tr', { class: s.err ? 'err' : null },
    h('td', null, h('div', { class: 'what' },
      h('span', { class: `dot ${cls}`, title: meaning }, h('span', { class: 'sr' }, meaning)),
      h('a', { class: 'name', href: link('', { query: s.query }), 'data-id': s.profileId, title: spanTitle(s) }, spanTitle(s)),
      s.err && h('span', { class: 'tag err', title: s.status }, 'error'),
      s.manual && h('span', { class: 'tag', title: 'work under a profile_id label of its own, without a span' }, 'manual'),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival()),
      manyServices && h('span', { class: 'muted service' }, s.service))),
    s.running ? h('td', { class: 'when' }, 'running')
      : h('td', { class: 'when', title: ended.toISOString() }, since, h('span', { class: 'muted clock' }, time(ended))),
    h('td', { class: 'bars' }, bar((wall(s) ?? 0) / most, 'wall'), bar(s.cpuNs / most, 'cpu')),
    h('td', { class: 'num', 'data-label': 'wall' }, wall(s) == null ? '\u2013' : duration(wall(s))),
    h('td', { class: 'num', 'data-label': 'CPU', title: s.cpuInclusiveNs > s.cpuNs ? `with its children ${duration(s.cpuInclusiveNs)}` : null }, s.cpuSamples ? duration(s.cpuNs) : '\u2013'),
    h('td', { class: 'num', 'data-label': 'samples' }, s.cpuSamples.toLocaleString('en')));
  const tell = (now) => {
    const text = ago(ended, now);
    if (since.textContent !== text) since.textContent = text;
  };
  return { element, tell };
}
