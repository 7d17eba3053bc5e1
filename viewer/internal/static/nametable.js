// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { conditionChips, given } from './conditions.js';
import { button, h } from './dom.js';
import { count, duration, sentence, value } from './format.js';
import { rowsIn } from './portions.js';

const LIMIT = 500;
const MOST = 10000;
const time = (t, key) => (t ? duration(t[key]) : '\u2013');
// COLUMNS are [sort, title, meaning, text of a row].
const COLUMNS = [
  ['cpu', 'CPU', 'CPU time of the spans and of those below them', (n) => duration(n.cpuInclusiveNs)],
  ['self', 'of its own', 'CPU time of the spans without those below them', (n) => duration(n.cpuNs)],
  ['waits', 'Waits', 'wall time in samples of the spans themselves less their CPU time: waiting, or ready without a processor', (n) => (n.waitNs == null ? '\u2013' : duration(n.waitNs))],
  ['spans', 'Spans', 'spans that ended', (n) => n.spans.toLocaleString('en')],
  ['errors', 'Errors', 'spans with the status Error', (n) => n.errors.toLocaleString('en')],
  ['p50', 'p50', 'half of the spans took no longer', (n) => time(n.durations, 'p50Ns')],
  ['p95', 'p95', '95 in 100 spans took no longer', (n) => time(n.durations, 'p95Ns')],
  ['max', 'Longest', 'the longest span', (n) => time(n.durations, 'maxNs')],
  ['cpup50', 'CPU p50', 'half of the spans took no more CPU time, those below included', (n) => time(n.cpus, 'p50Ns')],
  ['cpup95', 'CPU p95', '95 in 100 spans took no more CPU time, those below included', (n) => time(n.cpus, 'p95Ns')],
  ['cpumax', 'Most CPU', 'the most CPU time of a span, those below included', (n) => time(n.cpus, 'maxNs')],
];

// namesView is the table of all names. It keeps its controls while update brings data.
export function namesView() {
  const params = new URLSearchParams(location.search);
  let data = null;
  let asking = '';
  let answered = '';
  let reload = () => {};
  let turns = 0;
  let waiting = false; // for an answer
  const set = (pairs) => {
    for (const [key, v] of Object.entries(pairs)) {
      if (v) params.set(key, v);
      else params.delete(key);
    }
    history.replaceState(null, '', link('names', params));
    reload();
  };
  let typing;
  const filter = h('input', { type: 'search', placeholder: 'Name, error or attribute  ( / )', 'aria-label': 'Only spans with this in their name, error or attributes', 'data-search': '', spellcheck: 'false', autocomplete: 'off', oninput: () => {
    clearTimeout(typing);
    typing = setTimeout(() => set({ filter: filter.value.trim() }), 250);
  } });
  filter.value = params.get('filter') ?? '';
  const shown = h('span', { class: 'muted', role: 'status' });
  const spansOf = h('a', { class: 'button', href: './' }, 'Spans');
  const conditions = h('div', { class: 'chips conditions', hidden: true });
  const note = h('p', { class: 'note', hidden: true });
  const sort = (key) => set({ sort: key === 'cpu' ? '' : key, dir: params.get('sort') === key || !params.get('sort') && key === 'cpu' ? (data?.order === 'desc' ? 'asc' : 'desc') : '' });
  const heads = [['name', 'Name', ''], ...COLUMNS].map(([key, text, meaning]) =>
    h('th', { scope: 'col', class: key === 'name' ? null : 'num', 'data-by': key }, button(text, () => sort(key), { class: 'sort', title: meaning })));
  heads.splice(9, 0, h('th', { scope: 'col', class: 'spread', title: 'How many spans took how long: each column is twice as long as the one before' }, 'Durations'));
  const body = h('tbody');
  const rows = rowsIn(body);
  const table = h('table', { class: 'plain bynames' }, h('thead', null, h('tr', null, heads)), body);
  const none = h('p', { class: 'muted', hidden: true }, 'No span that has ended is here.');
  const more = button('', () => set({ limit: Math.min(MOST, data.names.length * 10) }), { hidden: true });
  const card = h('div', { class: 'card scroll', hidden: true }, table, none);
  const element = h('div', null, h('h1', { class: 'sr' }, 'Spans by name'),
    h('div', { class: 'tools' }, filter, h('span', { class: 'grow' }), shown, spansOf), conditions, note,
    card, more);

  function render(changed) {
    const { total, omitted } = data;
    const many = Boolean(data.services);
    const kept = given(params);
    const columns = Math.max(1, ...data.names.map((n) => n.histogram?.length ?? 0));
    element.classList.toggle('inclusive', Boolean(data.inclusive));
    for (const head of heads) if (head.dataset.by) head.setAttribute('aria-sort', head.dataset.by !== data.sort ? 'none' : data.order === 'asc' ? 'ascending' : 'descending');
    const about = [many, kept, columns, data.selected, data.octave];
    const sums = [...(omitted.names > 0 ? [['omitted', `${count(omitted.names, 'more name')}, left out here`, omitted, data.inclusive]] : []),
      ...(data.unlabelledCpuNs > 0 ? [['unlabelled', 'samples without span_name', { cpuNs: data.unlabelledCpuNs }, data.inclusive]] : [])];
    rows.fill([...data.names.map((n) => ({ key: JSON.stringify([n.service, n.name]), of: [n, about], make: () => row(n, many, kept, columns, data) })),
      ...sums.map((sum) => ({ key: sum[0], of: sum, make: () => sumRow(...sum) }))], changed);
    shown.textContent = `${count(total.names, 'name')} of ${count(total.spans, 'span')}, ${duration(total.cpuNs)} of CPU time`;
    card.hidden = false;
    none.hidden = data.names.length > 0;
    more.hidden = omitted.names === 0 || data.names.length >= MOST;
    more.textContent = `Show ${count(Math.min(omitted.names, data.names.length * 9), 'more name')}`;
    note.hidden = !data.note;
    note.textContent = data.note ? sentence(data.note) : '';
    spansOf.href = link('', kept);
    conditionChips(conditions, params, () => set({}), { error: 'errors', min: 'at least' });
  }

  return {
    element,
    busy(on) {
      element.setAttribute('aria-busy', String(on && asking !== answered));
      if (on && !data) shown.textContent = 'Summing the spans \u2026';
    },
    attach(load) { reload = load; },
    // All spans are summed for an answer: every ten seconds will do, as windows come then. A
    // server that is gone is asked at each turn.
    poll: () => !data?.fixed && !rows.busy() && (waiting || ++turns % 5 === 0),
    address() {
      const p = new URLSearchParams(params);
      p.set('format', 'json');
      if (!p.get('limit')) p.set('limit', LIMIT);
      asking = `${p}`;
      waiting = true;
      return `./names?${p}${data?.generation && answered === asking ? `&since=${data.generation}` : ''}`;
    },
    update(answer) {
      waiting = false;
      if (answer.unchanged) return;
      const changed = answered !== asking;
      data = answer;
      answered = asking;
      document.title = `By name \u00b7 ${data.service ? `${data.service} \u00b7 ` : ''}spanprof`;
      render(changed);
    },
  };
}

function row(n, many, kept, columns, data) {
  const spans = (more) => link('', { ...kept, ...(n.name && { name: n.name }), ...(many && { service: n.service }), ...more });
  // A label that other names share selects their work too, and conditions on spans are not
  // in its query: link to the list of the spans instead.
  const graph = n.query && !(n.labelNames > 1) && (!data.selected || Object.keys(kept).every((k) => ['from', 'until', 'name', 'service'].includes(k)));
  const range = Object.fromEntries(['from', 'until'].filter((k) => kept[k]).map((k) => [k, kept[k]]));
  const cells = COLUMNS.map(([key, , , text]) => h('td', { class: 'num', 'data-by': key },
    key === 'spans' && n.spans ? h('a', { href: spans({ order: 'slowest' }) }, text(n)) : key === 'errors' && n.errors ? h('a', { class: 'err', href: spans({ error: 'true' }) }, text(n)) : text(n)));
  cells.splice(8, 0, h('td', null, histogram(n, columns, data.octave)));
  const measured = n.measured < n.spans && `times of ${n.measured.toLocaleString('en')} of ${count(n.spans, 'span')}`;
  return h('tr', { title: measured },
    h('th', { scope: 'row' }, h('a', { class: 'name', href: graph ? link('', { query: n.query, ...range }) : spans({ order: 'cpu' }), title: n.name }, n.name || '(unnamed)'),
      many && h('span', { class: 'muted service' }, n.service)),
    ...cells);
}

// sumRow is what is in no row of a name. Of CPU time below spans it has no sum.
export const sumRow = (key, text, sum, inclusive) => h('tr', { 'data-key': key, class: 'muted' }, h('th', { scope: 'row' }, text),
  h('td', { class: 'num', 'data-by': 'cpu' }, !inclusive && duration(sum.cpuNs)), h('td', { class: 'num', 'data-by': 'self' }, duration(sum.cpuNs)), h('td'),
  h('td', { class: 'num' }, sum.spans?.toLocaleString('en')), h('td', { class: 'num' }, sum.errors?.toLocaleString('en')), h('td', { colspan: 7 }));

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 18;
const WIDTH = 4;

// histogram draws how many spans took how long, in as many columns as all names have.
export function histogram(n, columns, octave) {
  if (!n.histogram) return '';
  const most = Math.max(...n.histogram);
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  // A column with a span is seen beside one with a million.
  path.setAttribute('d', n.histogram.map((k, i) => (k ? `M${i * WIDTH} ${HEIGHT}v-${Math.max(1.5, k / most * HEIGHT).toFixed(1)}h${WIDTH - 1}V${HEIGHT}z` : '')).join(''));
  for (const [key, v] of Object.entries({ viewBox: `0 0 ${columns * WIDTH} ${HEIGHT}`, width: columns * WIDTH, height: HEIGHT, role: 'img', 'aria-label': spread(n.histogram, octave), class: 'histogram' })) svg.setAttribute(key, v);
  const title = document.createElementNS(SVG, 'title');
  title.textContent = spread(n.histogram, octave);
  svg.append(title, path);
  return svg;
}

// spread says a histogram in words.
export function spread(counts, octave) {
  return counts.map((k, i) => (k ? `${value(2 ** (octave + i), 'nanoseconds')} to ${value(2 ** (octave + i + 1), 'nanoseconds')}: ${count(k, 'span')}` : '')).filter(Boolean).join(', ');
}
