// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { CONDITIONS, go, link, pageParams, range } from './api.js';
import { bar, button, h, refill } from './dom.js';
import { clock, count, duration } from './format.js';

const STEP = 8; // names of the list beside the spans

// names lists the sums of all spans by their names.
export function names() {
  const list = h('ul', { class: 'names' });
  let room = STEP;
  let last = null;
  const more = button('', () => { room += 20 * STEP; update(...last); }, { class: 'cutoff', hidden: true });
  const omitted = h('p', { class: 'muted', hidden: true });
  const element = h('details', { class: 'card aside', open: matchMedia('(width >= 90rem)').matches },
    h('summary', null, h('h2', null, 'By name'), h('span', { class: 'muted' }, 'all spans of a name')), list, more, omitted);
  // update shows the names with a text.
  function update(data, wanted) {
    last = [data, wanted];
    const many = new Set(data.groups.map((g) => g.service)).size > 1;
    const most = Math.max(1, ...data.groups.map((g) => g.cpuNs));
    const when = data.ranged ? range() : {};
    const groups = data.groups.filter((g) => g.name.toLowerCase().includes(wanted));
    more.hidden = groups.length <= room;
    more.textContent = `Show ${count(groups.length - room, 'more name')}, ${duration(groups.slice(room).reduce((sum, g) => sum + g.cpuNs, 0))} CPU`;
    omitted.hidden = !data.groupsOmitted;
    omitted.textContent = `${count(data.groupsOmitted ?? 0, 'name')} with less CPU left out`;
    element.hidden = groups.length === 0;
    refill(list, groups.slice(0, room).map((g) => group(g, most, many, data.fixed, when)));
  }
  return { element, update };
}

function group(g, most, many, fixed, when) {
  const spans = (more) => link('', { name: g.name, ...(many && { service: g.service }), ...when, ...more });
  return h('li', { 'data-key': JSON.stringify([g.service, g.name]) },
    h('a', { class: 'name', href: g.query ? link('', { query: g.query, ...when }) : spans({ order: 'cpu' }), title: g.name }, g.name),
    many && h('span', { class: 'muted of' }, g.service),
    bar(g.cpuNs / most, 'cpu'),
    h('span', { class: 'muted' }, g.spans > 0 ? h('a', { href: spans({ order: 'slowest' }) }, count(g.spans, 'span')) : fixed ? h('a', { href: spans({ order: 'cpu' }) }, 'spans') : 'no span has ended',
      g.errors > 0 && [', ', h('a', { class: 'err', href: spans({ error: 'true' }) }, count(g.errors, 'error'))],
      g.spans > 0 ? ` \u00b7 avg ${g.wallNs ? `${duration(g.wallNs / g.spans)} wall, ` : ''}${duration(g.cpuNs / g.spans)} CPU` : ` \u00b7 ${duration(g.cpuNs)} CPU`,
      g.maxWallNs > 0 && ` \u00b7 max ${duration(g.maxWallNs)}`));
}

// CHECKED are conditions with one value.
const CHECKED = ['flat', 'error'];

// conditionChips shows the conditions of an address, each with a way to drop it.
export function conditionChips(element, changed) {
  const params = pageParams();
  const all = Object.entries(CONDITIONS).flatMap(([k, text]) => params.getAll(k).filter(Boolean).map((v) => [k, text, v]));
  const drop = (key, v) => {
    const others = [...pageParams()].filter(([k, other]) => k !== key || other !== v);
    go(`?${new URLSearchParams(others)}`, true);
    changed();
  };
  element.hidden = all.length === 0;
  refill(element, all.map(([k, text, v]) => button([text, !CHECKED.includes(k) && (/^\d{13}$/.test(v) ? clock(Number(v)) : v)].filter(Boolean).join(' '), () => drop(k, v), { class: 'chip drop', title: 'Drop this condition', 'data-key': `${k} ${v}` })));
}
