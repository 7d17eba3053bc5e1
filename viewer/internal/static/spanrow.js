// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, link, range } from './api.js';
import { bar, button, fill, h } from './dom.js';
import { ago, count, duration, spanTitle, time, wall } from './format.js';
import { arrival } from './status.js';
import { nested } from './trace.js';

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
export function spanRow(s, { many, ranged, toggle, attributes }) {
  const [cls, meaning] = mark(s);
  const inclusive = s.cpuInclusiveNs > s.cpuNs ? duration(s.cpuInclusiveNs) : null;
  // Of a request all its work counts.
  const whole = s.below > 0 && inclusive;
  const what = h('div', { class: 'what' },
      toggle ?? h('i', { hidden: true }), // Updates keep what stays in its place.
      cls === 'none' ? h('span', { class: 'dot' }) : h('span', { class: `dot ${cls}`, title: meaning }, h('span', { class: 'sr' }, meaning)),
      h('a', { class: 'name', href: link('', { query: s.query, ...(ranged && range()) }), 'data-id': s.profileId, title: spanTitle(s) }, spanTitle(s)),
      s.kind && h('span', { class: 'tag kind', title: 'Spans of several kinds have this name' }, s.kind),
      s.err && h('span', { class: 'tag err', title: s.status }, 'error'),
      s.manual && h('span', { class: 'tag', title: 'work under a profile_id label of its own, without a span' }, 'manual'),
      s.earlier && earlierTag(s.earlier),
      s.running ? h('span', { class: 'tag open' }, 'running') : !s.complete && h('span', { class: 'tag open' }, arrival()),
      s.afterEnd && h('span', { class: 'tag after-end', title: 'CPU time after its end, in goroutines that it had started: in no other number here' }, `+${duration(s.afterEnd.cpuNs)} after its end`),
      many && h('span', { class: 'muted service' }, s.service));
  if (s.depth) what.style.paddingLeft = `${s.depth * 18}px`;
  return h('tr', { class: [s.err && 'err', s.depth && 'below'].filter(Boolean).join(' ') || null },
    h('td', null, what, s.status && h('div', { class: 'attributes failed', title: s.status }, s.status), attributeLine(s, attributes)),
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

// earlierTag marks what an earlier process has left in a directory.
export function earlierTag(p) {
  if (!p.started) {
    return h('span', { class: 'tag earlier', title: 'of one of the earlier processes that are too many to tell apart' }, 'earlier process');
  }
  const of = [`started ${new Date(p.started).toISOString()}`, p.pid && `pid ${p.pid}`, p.version && `version ${p.version}`].filter(Boolean).join(', ');
  return h('span', { class: 'tag earlier', title: `of an earlier process: ${of}` }, 'earlier process');
}

// differing has the attributes in which spans of one name differ, by the id of the span. A running span lacks some, and a span that is alone of its name has all.
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

// attributeLine is one line with the attributes that tell one request from others; null without
// any. The name of the span has some of them.
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
    open: (s) => open.has(s.profileId),
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
