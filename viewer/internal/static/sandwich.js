// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { asJSON, get } from './api.js';
import { h } from './dom.js';
import { Flame } from './flame.js';
import { percent, sentence, value } from './format.js';
import { mark } from './frametypes.js';
import { functionsView } from './functions.js';

// sandwichView shows a function between its callers and its callees. Without a name it
// shows a list to choose from.
export function sandwichView(data, name, functions, pick, ask) {
  if (!name) return [h('p', { class: 'muted legend' }, 'Choose a function to see what called it and what it called.'), functionsView(data, pick, ask).element];
  const place = h('div', { class: 'sandwich', 'aria-busy': 'true' }, h('p', { class: 'muted' }, 'Looking for its callers and callees \u2026'));
  fill(place, data, name, functions, pick, ask);
  return place;
}

async function fill(place, data, name, functions, pick, ask) {
  let focus;
  try {
    ({ focus } = await get(asJSON({ function: name })));
  } catch (err) {
    place.replaceChildren(h('p', { class: 'note', role: 'alert' }, sentence(err.message)));
    return;
  }
  const { function: fn, callers, callees } = focus;
  if (!fn.total) {
    place.replaceChildren(h('p', { class: 'note' }, `No stack of this profile has a function ${name}.`));
    return;
  }
  const graph = (root, label, flipped) => new Flame({ ask: (more, signal) => ask({ ...more, function: name, of: label.toLowerCase() }, signal), root, unit: data.unit, label: `${label} of ${name}`, whole: data.total, functions, flipped, simple: true, onfunction: pick }).element;
  const share = (v) => `${value(v, data.unit)}, ${percent(v / data.total)} of the total`;
  place.replaceChildren(
    h('section', { class: 'card about-function' }, h('h2', { class: 'code' }, mark(fn), fn.name),
      fn.file && h('p', { class: 'muted code' }, `${fn.file}:${fn.line}`),
      h('p', null, `Self ${share(fn.self ?? 0)} \u00b7 with what it called ${share(fn.total)}`)),
    h('h3', null, 'Callers'), callers.children ? graph(callers, 'Callers', true) : h('p', { class: 'muted' }, 'Nothing called it: it is at the root of its stacks.'),
    h('h3', null, 'Callees'), callees.children ? graph(callees, 'Callees', false) : h('p', { class: 'muted' }, 'It called nothing that was seen.'));
  place.removeAttribute('aria-busy');
}
