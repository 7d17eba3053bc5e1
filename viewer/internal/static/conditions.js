// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { button } from './dom.js';
import { clock } from './format.js';
import { refill } from './keep.js';

// CONDITIONS are the parameters of lists of spans without a control of their own.
export const CONDITIONS = { name: 'named', trace: 'of trace', service: 'of service', max: 'at most', attribute: 'with', below: 'below', flat: 'each span', from: 'from', until: 'until' };
const KEPT = [...Object.keys(CONDITIONS), 'filter', 'error', 'min'];

// given returns the conditions of an address, which links between lists keep.
export const given = (params) => [...params].filter(([k, v]) => KEPT.includes(k) && v).reduce((all, [k, v]) => {
  all[k] = k in all ? [].concat(all[k], v) : v;
  return all;
}, {});

// dropConditions takes all conditions away; the time stays of a source that is ranged, which
// holds nothing else.
export function dropConditions(params, ranged) {
  for (const key of KEPT) if (!ranged || key !== 'from' && key !== 'until') params.delete(key);
}

// CHECKED are conditions with one value.
const CHECKED = ['flat', 'error'];

// conditionChips shows the conditions of an address, each with a way to drop it: those
// without a control, and more that have none here.
export function conditionChips(element, params, changed, more = {}) {
  const all = Object.entries({ ...CONDITIONS, ...more }).flatMap(([k, text]) => params.getAll(k).filter(Boolean).map((v) => [k, text, v]));
  const drop = (key, v) => {
    const others = params.getAll(key).filter((other) => other !== v);
    params.delete(key);
    for (const other of others) params.append(key, other);
    changed();
  };
  element.hidden = all.length === 0;
  refill(element, all.map(([k, text, v]) => button([text, !CHECKED.includes(k) && (/^\d{13}$/.test(v) ? clock(Number(v)) : v)].filter(Boolean).join(' '), () => drop(k, v), { class: 'chip drop', title: 'Drop this condition', 'data-key': `${k} ${v}` })));
}
