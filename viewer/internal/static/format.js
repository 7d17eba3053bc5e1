// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// value writes a number of a sample type's unit with three digits.
export function value(v, unit) {
  if (unit === 'nanoseconds') return scaled(v, 1000, ['ns', 'µs', 'ms', 's']);
  if (unit === 'bytes') return scaled(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
  return v.toLocaleString('en');
}

export const duration = (ns) => value(ns, 'nanoseconds');

function scaled(v, step, units) {
  let i = 0;
  for (; i < units.length - 1 && Math.abs(v) >= step; i++) v /= step;
  const digits = i === 0 || Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2;
  return `${v.toFixed(digits)} ${units[i]}`;
}

export function percent(share) {
  return `${(share * 100).toFixed(Math.abs(share) >= 0.0995 ? 1 : 2)} %`;
}

// points writes a difference of two shares in percentage points.
export const points = (share) => `${(Math.abs(share) * 100).toFixed(Math.abs(share) >= 0.00995 ? 1 : 2)} pp`;

export const signedPoints = (share) => (share > 0 ? '+' : share < 0 ? '\u2212' : '') + points(share);

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// sentence adds a capital and a full stop where they are missing.
export const sentence = (text) => capital(text) + (/[.!?]$/.test(text) ? '' : '.');

// sources counts the measurements in the total of an answer.
export const sources = (a) => (isHeap(a) ? `from ${count(a.samples, 'allocation site')}` : `in ${count(a.samples, 'sample')}${a.profileIds ? ` of ${count(a.profileIds, 'profile id')}` : ''}`);

export const isHeap = (a) => /^(alloc|inuse)_/.test(a.sampleType);

// spanTitle returns what a span is shown as. Work without a span is shown by the id that
// the program gave it.
export const spanTitle = (s) => s.name || (s.manual || s.summaryMissing ? s.profileId : '(unnamed)');

export const count = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many ?? `${one}s`}`;

export function ago(from, now) {
  const s = Math.max(0, Math.round((now - from) / 1000));
  if (s === 0) return 'now';
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return from.toLocaleDateString();
}

// TIME is made once: toLocaleTimeString makes another one for each row, in 40 microseconds.
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });

export const time = (date) => TIME.format(date);

// clock is a time of day to the second, with the day where it is not today.
export function clock(when) {
  const date = new Date(when);
  const text = date.toLocaleTimeString('en-GB');
  return date.toDateString() === new Date().toDateString() ? text : `${date.toLocaleDateString('sv')} ${text}`;
}

// wall returns a span's wall time. It is not known without a span's summary.
export const wall = (span) => (span.manual || span.summaryMissing ? null : span.durationNs);

// pkg is the package of a function's name: its path up to the first dot after
// the last slash; '' if it has no dot. Type parameters may hold slashes of their own.
export function pkg(name) {
  const cut = name.search(/[[({ ]/);
  const head = cut < 0 ? name : name.slice(0, cut);
  const dot = head.indexOf('.', head.lastIndexOf('/') + 1);
  return dot < 0 ? '' : head.slice(0, dot);
}

// shortName is a function's name without the directory of its package.
export function shortName(name) {
  return name.slice(pkg(name).lastIndexOf('/') + 1);
}

// bareName is a function's name without package, receiver and type parameters;
// a closure keeps the name of the function it is in.
export function bareName(name) {
  const plain = name.replace(/\[.*\]/, '');
  return plain.match(/[^.()]+(\.func\d+|\.\d+|\.gowrap\d+|-range\d+)*$/)?.[0] ?? plain;
}
