// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { packageColour, theme, typeColour } from './colours.js';
import { button, h } from './dom.js';
import { count, percent } from './format.js';
import { follow } from './listen.js';

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

// packageLegend names the colours of the packages that take most themselves. A
// click marks the frames of one.
export function packageLegend(data, flame) {
  const top = data.packages.slice(0, SHOWN).filter((p) => p.name);
  const rest = data.packages.filter((p) => !top.includes(p)).concat(data.packagesOmitted ?? []);
  const others = rest.reduce((n, p) => n + (p.count ?? 1), 0);
  const chips = top.map(({ name, self }) => {
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
    chips.forEach((chip, i) => { chip.firstElementChild.style.background = packageColour(top[i].name, dark); });
  };
  paint();
  const element = h('div', { class: 'chips', 'aria-label': 'Packages by what they take themselves' }, chips,
    others > 0 && h('span', { class: 'muted' }, `${count(others, 'other package')} ${percent(rest.reduce((sum, p) => sum + p.self, 0) / (data.total || 1))}`));
  follow(element, 'theme', paint);
  return element;
}
