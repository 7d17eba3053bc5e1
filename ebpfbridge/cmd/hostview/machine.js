// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get } from './spans/api.js';
import { h } from './spans/dom.js';
import { Flame } from './spans/flame.js';
import { colourLegend } from './spans/functions.js';
import { Graph } from './spans/graph.js';

const place = document.getElementById('flame');
if (place) {
  try {
    const data = await get(place.dataset.address);
    const flame = new Flame({ graph: new Graph(data.flame), unit: data.unit, label: 'Flame graph of the rows', remembered: ['search', 'zoom'] });
    place.replaceChildren(flame.element, colourLegend(data, flame));
  } catch (err) {
    place.replaceChildren(h('p', { class: 'note', role: 'alert' }, err.message));
  }
}
