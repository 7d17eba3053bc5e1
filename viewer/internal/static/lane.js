// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';
import { count, duration } from './format.js';

// started returns when a span started in ms; a Date knows whole ones alone.
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
    place('wall', 0, s.durationNs), pale, busy(s).map(([from, to]) => place('cpu', from, to)));
}

// laneText says in words what a lane shows.
export function laneText(s) {
  const parts = busy(s);
  if (!parts.length) return s.cpuSamples ? `${duration(s.cpuNs)} on a CPU; when is not known` : '';
  const where = `between ${duration(parts[0][0])} and ${duration(parts.at(-1)[1])} after its start`;
  return `on a CPU ${parts.length > 1 ? `in ${count(parts.length, 'part')}, ${where}` : where}`;
}

// busy returns the times in which a span's samples say that it was on a CPU, in ns after
// its start and in order. A sample stands for CPU time before it.
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

// unplaced returns a span's CPU time whose moments are not known.
export const unplaced = (s) => s.cpuSamples > 0 && Math.max(0, s.cpuNs - (s.cpuTimes ?? []).reduce((sum, [, cpu]) => sum + cpu, 0));
