// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { CONDITIONS, go, link, pageParams, range, remember } from './api.js';
import { bar, button, h, refill, showNote } from './dom.js';
import { clock, count, duration, value } from './format.js';

const STEP = 8; // names of the list beside the spans

// names lists the sums of all spans by their names.
export function names() {
  const list = h('ul', { class: 'names' });
  let room = STEP;
  let last = null;
  const more = button('', () => { room += 20 * STEP; update(...last); }, { class: 'cutoff', hidden: true });
  const table = h('a', null, 'Table with waits and p95');
  const omitted = h('p', { class: 'muted', hidden: true });
  const element = h('details', { class: 'card aside', open: matchMedia('(width >= 90rem)').matches },
    h('summary', null, h('h2', null, 'By name'), h('span', { class: 'muted' }, 'all spans of a name')), table, list, more, omitted);
  // update shows the names with a text.
  function update(data, wanted) {
    last = [data, wanted];
    table.href = link('names', data.ranged ? range() : {});
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

const LIMIT = 100;
const MOST = 10000;
const time = (t, key) => (t ? duration(t[key]) : '\u2013');
// COLUMNS are [sort, title, meaning, text of a row].
const COLUMNS = [
  ['cpu', 'CPU', 'CPU time of the spans and of those below them', (n) => duration(n.cpuInclusiveNs)],
  ['self', 'of its own', 'CPU time of the spans without those below them', (n) => duration(n.cpuNs)],
  ['waits', 'Waits', 'wall time in samples of the spans themselves less their CPU time: waiting, or ready without a processor', (n) => (n.waitNs == null ? '\u2013' : duration(n.waitNs))],
  ['memory', 'Allocated', 'heap allocated under spanprof.Handler and spanprof.Do', (n) => (n.allocatedBytes ? value(n.allocatedBytes, 'bytes') : '\u2013')],
  ['spans', 'Spans', 'spans that ended', (n) => n.spans.toLocaleString('en')],
  ['errors', 'Errors', 'spans with the status Error', (n) => n.errors.toLocaleString('en')],
  ['p50', 'p50', 'half of the spans took no longer', (n) => time(n.durations, 'p50Ns')],
  ['p95', 'p95', '95 in 100 spans took no longer', (n) => time(n.durations, 'p95Ns')],
  ['max', 'Longest', 'the longest span', (n) => time(n.durations, 'maxNs')],
];

// namesView is the table of all names. It keeps its controls while update brings data.
export function namesView(reload) {
  let data = null;
  const set = (values) => {
    remember(values);
    reload();
  };
  let typing;
  const filter = h('input', { type: 'search', placeholder: 'Name  ( / )', 'aria-label': 'Only names with this in them', 'data-search': '', spellcheck: 'false', autocomplete: 'off', oninput: () => {
    clearTimeout(typing);
    typing = setTimeout(() => set({ filter: filter.value.trim() }), 250);
  } });
  filter.value = pageParams().get('filter') ?? '';
  const shown = h('span', { class: 'muted', role: 'status' }, 'Summing the spans \u2026');
  const spansOf = h('a', { class: 'button', href: './' }, 'Spans');
  const note = h('p', { class: 'note', hidden: true });
  const sort = (key) => set({ sort: key === 'cpu' ? '' : key });
  const heads = [['name', 'Name', ''], ...COLUMNS].map(([key, text, meaning]) =>
    h('th', { scope: 'col', class: key === 'name' ? null : 'num', 'data-by': key }, button(text, () => sort(key), { class: 'sort', title: meaning })));
  const body = h('tbody');
  const table = h('table', { class: 'plain bynames' }, h('thead', null, h('tr', null, heads)), body);
  const none = h('p', { class: 'muted', hidden: true }, 'No span that has ended is here.');
  const more = button('', () => set({ limit: Math.min(MOST, data.names.length * 10) }), { hidden: true });
  const card = h('div', { class: 'card scroll', hidden: true }, table, none);
  const element = h('div', null, h('h1', { class: 'sr' }, 'Spans by name'),
    h('div', { class: 'tools' }, filter, h('span', { class: 'grow' }), shown, spansOf), note,
    card, more);

  function render() {
    const { total, omitted } = data;
    const many = Boolean(data.services);
    const inclusive = data.names.some((n) => n.cpuInclusiveNs > n.cpuNs);
    element.classList.toggle('inclusive', inclusive);
    element.classList.toggle('memory', data.names.some((n) => n.allocatedBytes));
    for (const head of heads) head.setAttribute('aria-sort', head.dataset.by !== data.sort ? 'none' : data.sort === 'name' ? 'ascending' : 'descending');
    refill(body, [...data.names.map((n) => nameRow(n, many)), ...(data.unlabelledCpuNs > 0 ? [unlabelledRow(data.unlabelledCpuNs, inclusive)] : [])]);
    shown.textContent = `${count(total.names, 'name')} of ${count(total.spans, 'span')}, ${duration(total.cpuNs)} of CPU time`;
    card.hidden = false;
    none.hidden = data.names.length > 0;
    more.hidden = !omitted || data.names.length >= MOST;
    more.textContent = `Show ${count(Math.min(omitted, data.names.length * 9), 'more name')}`;
    showNote(note, data.note);
  }

  return {
    element,
    list: element,
    // All spans are summed for an answer: every ten seconds will do, as windows come then.
    every: 5,
    address() {
      const p = pageParams();
      p.set('format', 'json');
      if (!p.get('limit')) p.set('limit', LIMIT);
      return `./names?${p}`;
    },
    update(answer) {
      data = answer;
      document.title = `By name \u00b7 ${data.service ? `${data.service} \u00b7 ` : ''}spanprof`;
      render();
    },
  };
}

function nameRow(n, many) {
  const spans = (more) => link('', { ...range(), ...(n.name && { name: n.name }), ...(many && { service: n.service }), ...more });
  const cells = COLUMNS.map(([key, , , text]) => h('td', { class: 'num', 'data-by': key },
    key === 'spans' && n.spans ? h('a', { href: spans({ order: 'slowest' }) }, text(n)) : key === 'errors' && n.errors ? h('a', { class: 'err', href: spans({ error: 'true' }) }, text(n)) : text(n)));
  const measured = n.measured < n.spans && `times of ${n.measured.toLocaleString('en')} of ${count(n.spans, 'span')}`;
  return h('tr', { title: measured, 'data-key': JSON.stringify([n.service, n.name]) },
    h('th', { scope: 'row' }, h('a', { class: 'name', href: n.query ? link('', { query: n.query, ...range() }) : spans({ order: 'cpu' }), title: n.name }, n.name || '(unnamed)'),
      many && h('span', { class: 'muted service' }, n.service)),
    ...cells);
}

// unlabelledRow is the CPU time in no row of a name. What is below spans is unknown.
const unlabelledRow = (ns, inclusive) => h('tr', { 'data-key': 'unlabelled', class: 'muted' }, h('th', { scope: 'row' }, 'samples without span_name'),
  h('td', { class: 'num', 'data-by': 'cpu' }, !inclusive && duration(ns)), h('td', { class: 'num', 'data-by': 'self' }, duration(ns)), h('td'), h('td', { 'data-by': 'memory' }), h('td', { colspan: 5 }));

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
