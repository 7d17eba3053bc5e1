// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link, range } from './api.js';
import { given } from './conditions.js';
import { bar, button, h } from './dom.js';
import { count, duration } from './format.js';
import { rowsIn } from './portions.js';

const STEP = 100;

// names lists the sums of all spans by their names.
export function names() {
  const list = h('ul', { class: 'names' });
  const rows = rowsIn(list);
  let room = STEP;
  let last = null;
  const more = button('', () => { room += 10 * STEP; update(...last); }, { class: 'cutoff', hidden: true });
  const table = h('a', { class: 'all' }, 'Table with waits, p95 and spread');
  const element = h('details', { class: 'card aside', open: matchMedia('(width >= 90rem)').matches },
    h('summary', null, h('h2', null, 'By name'), h('span', { class: 'muted' }, 'all spans of a name')), table, list, more);
  // update shows the names that contain the wanted text; changed says that the list answers
  // another question than before.
  function update(data, wanted, changed) {
    last = [data, wanted];
    table.href = link('names', given(new URLSearchParams(location.search)));
    const many = new Set(data.groups.map((g) => g.service)).size > 1;
    const most = Math.max(1, ...data.groups.map((g) => g.cpuNs));
    const when = data.ranged ? range() : {};
    const groups = data.groups.filter((g) => g.name.toLowerCase().includes(wanted));
    more.hidden = groups.length <= room;
    more.textContent = `Show ${count(groups.length - room, 'more name')}, ${duration(groups.slice(room).reduce((sum, g) => sum + g.cpuNs, 0))} CPU`;
    element.hidden = groups.length === 0 && !data.unnamed;
    const about = [most, many, data.fixed, when];
    const notes = [...(data.groupsOmitted ? [`and ${count(data.groupsOmitted, 'name')} with less CPU, ${duration(data.groupsOmittedCpuNs ?? 0)} together${wanted ? ', which are not searched' : ''}`] : []),
      ...(data.unnamed ? [`${count(data.unnamed, 'unnamed span')} ${data.unnamed === 1 ? 'is' : 'are'} in no group: what has no name cannot be asked for by name.`] : [])];
    rows.fill([...groups.slice(0, room).map((g) => ({ key: JSON.stringify([g.service, g.name]), of: [g, about], make: () => group(g, ...about) })),
      ...notes.map((text, i) => ({ key: `note ${i}`, of: text, make: () => h('li', { class: 'muted' }, text) }))], changed);
  }
  return { element, update, busy: rows.busy };
}

function group(g, most, many, fixed, when) {
  const spans = (more) => link('', { name: g.name, ...(many && { service: g.service }), ...when, ...more });
  // Such a label selects the work of other names too: link to the list of this name's
  // spans instead.
  const shared = g.labelNames > 1;
  return h('li', null,
    h('a', { class: 'name', href: shared ? spans({ order: 'cpu' }) : link('', { query: g.query, ...when }), title: g.name }, g.name),
    many && h('span', { class: 'muted of' }, g.service),
    bar(g.cpuNs / most, 'cpu'),
    h('span', { class: 'muted' }, g.spans > 0 ? h('a', { href: spans({ order: 'slowest' }) }, count(g.spans, 'span')) : fixed ? h('a', { href: spans({ order: 'cpu' }) }, 'spans') : 'no span has ended',
      g.errors > 0 && [', ', h('a', { class: 'err', href: spans({ error: 'true' }) }, count(g.errors, 'error'))],
      g.spans > 0 ? ` \u00b7 avg ${g.wallNs ? `${duration(g.wallNs / g.spans)} wall, ` : ''}${duration(g.cpuNs / g.spans)} CPU` : ` \u00b7 ${duration(g.cpuNs)} CPU`,
      g.maxWallNs > 0 && ` \u00b7 max ${duration(g.maxWallNs)}`),
    shared && h('span', { class: 'muted of', title: g.label }, 'samples carry ', h('a', { href: link('', { query: g.query }) }, g.label), `, shared by ${count(g.labelNames, 'name')}`));
}
