// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { bar, button, h } from './dom.js';
import { count, percent, shortName, value } from './format.js';
import { mark } from './frametypes.js';

const ROWS = 100;

// functionsView lists the functions, to be sorted and filtered. pick is called
// with the name of one.
export function functionsView(data, pick) {
  let by = 'self';
  let shown = ROWS;
  const body = h('tbody');
  const more = button('', () => { shown += 10 * ROWS; render(); });
  const found = h('output', { class: 'found' });
  const search = h('input', { type: 'search', placeholder: 'Filter functions  ( / )', 'aria-label': 'Filter functions', 'data-search': '', spellcheck: 'false', autocomplete: 'off', oninput: () => { shown = ROWS; render(); } });
  const heads = [['name', 'Function', ''], ['self', 'Self', 'num'], ['total', 'Total', 'num']].map(([key, text, cls]) =>
    h('th', { scope: 'col', class: cls, 'data-by': key }, button(text, () => { by = key; render(); }, { class: 'sort' })));

  function render() {
    const wanted = search.value.trim().toLowerCase();
    const list = data.functions.filter((f) => f.name.toLowerCase().includes(wanted));
    list.sort((a, b) => (by === 'name' ? a.name.localeCompare(b.name) : (b[by] ?? 0) - (a[by] ?? 0) || b.total - a.total));
    for (const head of heads) head.setAttribute('aria-sort', head.dataset.by !== by ? 'none' : by === 'name' ? 'ascending' : 'descending');
    body.replaceChildren(...list.slice(0, shown).map((f) => h('tr', null,
      h('td', { class: 'fn' }, mark(f), button(shortName(f.name), () => pick(f.name), { class: 'plain', title: [f.name, f.file && `${f.file}:${f.line}`].filter(Boolean).join('\n') })),
      ...cells(f.self ?? 0, data), ...cells(f.total, data))));
    more.hidden = list.length <= shown;
    more.textContent = `Show more of ${count(list.length, 'function')}`;
    found.textContent = wanted ? `${list.length.toLocaleString('en')} of ${count(data.functions.length, 'function')}` : count(data.functions.length, 'function');
  }
  render();
  return h('section', { class: 'card functions' },
    h('div', { class: 'tools' }, search, found),
    h('table', null, h('thead', null, h('tr', null, heads[0], heads.slice(1).flatMap((head) => [head, h('td', { class: 'share' })]))), body),
    more,
    data.functionsOmitted && h('p', { class: 'muted' }, `${count(data.functionsOmitted, 'function')} that take next to nothing left out.`));
}

function cells(v, data) {
  return [h('td', { class: 'num' }, value(v, data.unit)),
    h('td', { class: 'share' }, bar(v / (data.total || 1), 'cpu'), h('span', { class: 'muted' }, percent(v / (data.total || 1))))];
}
