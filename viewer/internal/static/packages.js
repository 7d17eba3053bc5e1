// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { packageColour, theme } from './colours.js';
import { button, h } from './dom.js';
import { count, percent } from './format.js';
import { follow } from './listen.js';

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
