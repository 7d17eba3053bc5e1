// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { deltaColour, theme } from './colours.js';
import { h } from './dom.js';
import { signedPoints } from './format.js';
import { follow } from './listen.js';

// deltaLegend explains the colours of change.
export function deltaLegend(max) {
  const steps = [-1, -0.66, -0.33, 0, 0.33, 0.66, 1];
  const boxes = steps.map(() => h('i'));
  const paint = () => {
    const { dark } = theme();
    boxes.forEach((box, i) => { box.style.background = deltaColour(steps[i], dark); });
  };
  paint();
  const element = h('p', { class: 'muted legend' }, `${signedPoints(-max)} `, h('span', { class: 'scale' }, boxes), ` ${signedPoints(max)} (percentage points) of the total, right against left. Red takes more than on the left, blue less. What only the left has is in the table alone.`);
  follow(element, 'theme', paint);
  return element;
}
