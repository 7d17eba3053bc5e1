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

// spanTitle names a span. Work without a span is named by its profile id.
export const spanTitle = (s) => s.name || (s.manual || s.summaryMissing ? s.profileId : '(unnamed)');

export const count = (n, one) => `${n.toLocaleString('en')} ${n === 1 ? one : `${one}s`}`;

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

// bareName is a name without package, receiver and type parameters. A closure keeps its function.
export function bareName(name) {
  const plain = name.replace(/\[.*\]/, '');
  return plain.match(/[^.()]+(\.func\d+|\.\d+|\.gowrap\d+|-range\d+)*$/)?.[0] ?? plain;
}

// deltaColour runs from blue over grey to red while t runs from -1 to 1.
export function deltaColour(t, dark) {
  const strength = Math.min(1, Math.abs(t)) ** 0.7;
  const hue = t > 0 ? 6 : 214;
  return dark
    ? `hsl(${hue} ${Math.round(62 * strength)}% ${Math.round(27 + 15 * strength)}%)`
    : `hsl(${hue} ${Math.round(82 * strength)}% ${Math.round(90 - 20 * strength)}%)`;
}

// packageColour is the same for a package on every page.
export function packageColour(name, dark) {
  // The runtime is in every program, and seldom what is searched for.
  if (name === 'runtime' || name.startsWith('runtime/') || name.startsWith('internal/runtime')) {
    return dark ? 'hsl(220 9% 33%)' : 'hsl(220 14% 83%)';
  }
  let hash = 2166136261; // FNV-1a
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
  hash ^= hash >>> 15;
  const hue = hash % 24 * 15;
  const tone = (hash >>> 8) % 3 * 3;
  return dark ? `hsl(${hue} 34% ${31 + tone}%)` : `hsl(${hue} 58% ${75 + tone}%)`;
}

// TYPES are the frames of a host profile: their title, the text that a search finds them by, and
// their colour. Blue and orange stay apart without red or green, and Go's, which are most, are grey.
export const TYPES = {
  go: { title: 'Go', mark: '[go]', colour: [150, 12, 84, 8, 31] },
  kernel: { title: 'Kernel', mark: '[k]', colour: [28, 88, 70, 72, 33] },
  native: { title: 'Native code', mark: '[n]', colour: [212, 78, 77, 55, 42] },
  other: { title: 'Other languages', mark: '[other]', colour: [290, 40, 82, 30, 44] },
};

export function typeColour(type, dark) {
  const [hue, saturation, lightness, darkSaturation, darkLightness] = TYPES[type].colour;
  return dark ? `hsl(${hue} ${darkSaturation}% ${darkLightness}%)` : `hsl(${hue} ${saturation}% ${lightness}%)`;
}

// typeOfMark returns the type of frames that a search text means, if it is a mark.
export const typeOfMark = (text) => Object.keys(TYPES).find((type) => TYPES[type].mark === text);

// mark is what stands before the name of a frame.
export const mark = (f) => (f.type === 'kernel' || f.type === 'native' ? `${TYPES[f.type].mark} ` : '');

// stripColour returns the colour of a time line's name by its index; -1 is the rest.
export function stripColour(i, dark) {
  if (i < 0) return dark ? 'hsl(220 9% 38%)' : 'hsl(220 14% 78%)';
  const hue = [18, 205, 145, 280, 48, 335][i % 6];
  return dark ? `hsl(${hue} 62% 56%)` : `hsl(${hue} 66% 54%)`;
}

// theme reads the colours of the style sheet for a canvas.
export function theme() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).match(/#\w+/g)?.[Number(dark)];
  return { dark, ink: get('--frame-ink'), plain: get('--frame-plain'), match: get('--match'), matchInk: get('--match-ink'), line: get('--line'), muted: get('--muted'), accent: get('--accent') };
}

// COLOURS are the colours of states. Time without a sample is hatched.
const COLOURS = { 'on a CPU': '#e8590c', 'running, but the machine withheld the CPU': '#ffa94d', running: '#e8590c', 'ready without a CPU': '#94d82d', runnable: '#94d82d', mutex: '#d6336c', rwmutex: '#d6336c', semaphore: '#d6336c', channel: '#1c7ed6', select: '#4dabf7', cond: '#9775fa', waitgroup: '#9775fa', 'cond or waitgroup': '#9775fa', network: '#0ca678', 'file or syscall': '#a9702c', syscall: '#a9702c', sleep: '#868e96', GC: '#f2b705', cgo: '#5f3dc4', unknown: '#adb5bd', 'other wait': '#adb5bd', 'not on a CPU': '#748ffc' };

export const colourOf = (state) => COLOURS[state] ?? (/^(gc|stop-the-world)/.test(state) ? COLOURS.GC : '');
