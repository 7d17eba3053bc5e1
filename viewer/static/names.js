// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { bar, h } from './dom.js';
import { count, duration } from './format.js';

const SHOWN = 100;

// names lists the sums of all spans by their names.
export function names() {
  const list = h('ul', { class: 'names' });
  const element = h('details', { class: 'card aside', open: matchMedia('(width >= 90rem)').matches },
    h('summary', null, h('h2', null, 'By name'), h('span', { class: 'muted' }, 'all spans of a name')), list);
  function update(data, wanted) {
    const many = new Set(data.groups.map((g) => g.service)).size > 1;
    const most = Math.max(1, ...data.groups.map((g) => g.cpuNs));
    const groups = data.groups.filter((g) => g.name.toLowerCase().includes(wanted)).slice(0, SHOWN);
    element.hidden = groups.length === 0 && !data.unnamed;
    list.replaceChildren(...groups.map((g) => h('li', null,
      h('a', { class: 'name', href: link('', { query: g.query }), title: g.name }, g.name),
      many && h('span', { class: 'muted of' }, g.service),
      bar(g.cpuNs / most, 'cpu'),
      h('span', { class: 'muted' }, h('a', { href: link('', { name: g.name, ...(many && { service: g.service }), order: 'slowest' }) }, count(g.spans, 'span')),
        ...(g.errors > 0 ? [', ', h('a', { class: 'err', href: link('', { name: g.name, ...(many && { service: g.service }), error: 'true' }) }, count(g.errors, 'error'))] : []),
        ` \u00b7 avg ${g.wallNs ? `${duration(g.wallNs / g.spans)} wall, ` : ''}${duration(g.cpuNs / Math.max(1, g.spans))} CPU`,
        g.maxWallNs > 0 && ` \u00b7 max ${duration(g.maxWallNs)}`))),
    ...(data.groupsOmitted ? [h('li', { class: 'muted' }, `and ${count(data.groupsOmitted, 'name')} with less CPU`)] : []),
    ...(data.unnamed ? [h('li', { class: 'muted' }, `${count(data.unnamed, 'unnamed span')} ${data.unnamed === 1 ? 'is' : 'are'} in no group: what has no name cannot be asked for by name.`)] : []));
  }
  return { element, update };
}
