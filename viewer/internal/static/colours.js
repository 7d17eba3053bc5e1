// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { button, follow, h } from './dom.js';
import { count, percent } from './format.js';

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

// TYPES are the colours of a host profile's frames: blue and orange stay apart without
// red or green, and Go's, which are most, are grey.
const TYPES = { kernel: [28, 88, 70, 72, 33], native: [212, 78, 77, 55, 42], other: [290, 40, 82, 30, 44], go: [150, 12, 84, 8, 31] };

export function typeColour(type, dark) {
  const [hue, saturation, lightness, darkSaturation, darkLightness] = TYPES[type];
  return dark ? `hsl(${hue} ${darkSaturation}% ${darkLightness}%)` : `hsl(${hue} ${saturation}% ${lightness}%)`;
}

// stripColour returns the colour of a time line's name by its index; -1 is the rest.
export function stripColour(i, dark) {
  if (i < 0) return dark ? 'hsl(220 9% 38%)' : 'hsl(220 14% 78%)';
  const hue = [18, 205, 145, 280, 48, 335][i % 6];
  return dark ? `hsl(${hue} 62% 56%)` : `hsl(${hue} 66% 54%)`;
}

// theme reads the colours of the style sheet.
export function theme() {
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).trim();
  return { dark: get('--dark') === '1', ink: get('--frame-ink'), plain: get('--frame-plain'), match: get('--match'), matchInk: get('--match-ink'), line: get('--line'), muted: get('--muted'), accent: get('--accent') };
}

// NAMES are what the legend calls the frames of a type; MARKS are what a search finds
// them by, as the text form of the page marks them.
const NAMES = { go: 'Go', kernel: 'Kernel', native: 'Native code', other: 'Other languages' };
const MARKS = { kernel: '[k]', native: '[n]', go: '[go]', other: '[other]' };

// typeOfMark returns the type of frames that a search text means, if it is a mark.
export const typeOfMark = (text) => Object.keys(MARKS).find((type) => MARKS[type] === text);

// mark is what stands before the name of a frame.
export const mark = (f) => (f.type === 'kernel' || f.type === 'native' ? `${MARKS[f.type]} ` : '');

// typeLegend names the colours of a host profile's frames, with what ran in them. A click
// marks the frames of one type.
export function typeLegend(data, flame) {
  const chips = data.frameTypes.map(({ type, self }) => {
    const chip = button('', () => {
      flame.search.value = flame.search.value === MARKS[type] ? '' : MARKS[type];
      flame.find(flame.search.value);
    }, { class: 'chip', title: `Mark the frames of this type, or search for ${MARKS[type]}` });
    chip.append(h('i'), `${mark({ type })}${NAMES[type]}`, h('span', { class: 'muted' }, percent(self / (data.total || 1))));
    return chip;
  });
  const paint = () => {
    const { dark } = theme();
    chips.forEach((chip, i) => { chip.firstElementChild.style.background = typeColour(data.frameTypes[i].type, dark); });
  };
  paint();
  const element = h('div', { class: 'chips types', 'aria-label': 'Types of frames by what they take themselves' }, chips);
  follow(element, 'theme', paint);
  return element;
}

const SHOWN = 8;

// packageLegend names the colours of the packages with most self. A click marks the frames of one.
export function packageLegend(data, flame) {
  const all = flame.graph.packages();
  const top = all.slice(0, SHOWN).filter(([name]) => name);
  const rest = all.filter((p) => !top.includes(p));
  const chips = top.map(([name, self]) => {
    const chip = button('', () => {
      const text = flame.search.value === `${name}.` ? '' : `${name}.`;
      flame.search.value = text;
      flame.find(text);
    }, { class: 'chip', title: `Mark the functions of ${name}` });
    chip.append(h('i'), name, h('span', { class: 'muted' }, percent(self / (data.total || 1))));
    return chip;
  });
  const paint = () => {
    const { dark } = theme();
    chips.forEach((chip, i) => { chip.firstElementChild.style.background = packageColour(top[i][0], dark); });
  };
  paint();
  const element = h('div', { class: 'chips', 'aria-label': 'Packages by what they take themselves' }, chips,
    rest.length > 0 && h('span', { class: 'muted' }, `${count(rest.length, 'other package')} ${percent(rest.reduce((sum, [, self]) => sum + self, 0) / (data.total || 1))}`));
  follow(element, 'theme', paint);
  return element;
}
