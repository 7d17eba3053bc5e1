// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { packageColour, theme } from './colours.js';
import { button, h } from './dom.js';
import { percent, pkg } from './format.js';
import { follow } from './listen.js';

const SHOWN = 8;

// packageLegend names the colours of the packages that take most themselves. A
// click marks the frames of one.
export function packageLegend(data, flame) {
  const sums = new Map();
  for (const f of data.functions) if (f.self) sums.set(pkg(f.name), (sums.get(pkg(f.name)) ?? 0) + f.self);
  const top = [...sums].sort((a, b) => b[1] - a[1]).slice(0, SHOWN);
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
  const element = h('div', { class: 'chips', 'aria-label': 'Packages by what they take themselves' }, chips);
  follow(element, 'theme', paint);
  return element;
}
