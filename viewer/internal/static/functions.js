// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { bar, button, h } from './dom.js';
import { count, percent, sentence, shortName, value } from './format.js';
import { mark } from './frametypes.js';

const ROWS = 100;

// functionsView lists the functions, to be sorted and filtered. pick is called
// with the name of one. Where the list is not complete, ask searches in all functions.
export function functionsView(data, pick, ask) {
  let by = 'self';
  let shown = ROWS;
  const body = h('tbody');
  const more = button('', () => { shown += 10 * ROWS; render(); });
  let searched = null; // what the server found: {text, functions, functionsOmitted}
  let asked = null;
  let typing;
  const note = h('p', { class: 'muted' });
  const found = h('output', { class: 'found' });
  const search = h('input', { type: 'search', placeholder: 'Filter functions  ( / )', 'aria-label': 'Filter functions', 'data-search': '', spellcheck: 'false', autocomplete: 'off', oninput: () => { shown = ROWS; look(); } });
  const heads = [['name', 'Function', ''], ['self', 'Self', 'num'], ['total', 'Total', 'num']].map(([key, text, cls]) =>
    h('th', { scope: 'col', class: cls, 'data-by': key }, button(text, () => { by = key; render(); }, { class: 'sort' })));

  // look searches here, or on the server for those that are not here.
  function look() {
    clearTimeout(typing);
    asked?.abort();
    asked = null;
    const text = search.value.trim();
    if (text && data.functionsOmitted) {
      typing = setTimeout(async () => {
        const mine = asked = new AbortController();
        try {
          const answer = await ask({ of: 'functions', search: text }, mine.signal);
          if (asked !== mine) return;
          searched = { text, ...answer };
          render();
        } catch (err) {
          if (asked === mine) found.textContent = sentence(err.message);
        }
      }, 200);
    }
    render();
  }

  function render() {
    const text = search.value.trim();
    const wanted = text.toLowerCase();
    const complete = text && searched?.text === text;
    const from = complete ? searched : data;
    const list = complete ? [...from.functions] : data.functions.filter((f) => (f.package ? `${f.package}.${f.name}` : f.name).toLowerCase().includes(wanted));
    const omitted = from.functionsOmitted;
    list.sort((a, b) => (by === 'name' ? a.name.localeCompare(b.name) : (b[by] ?? 0) - (a[by] ?? 0) || b.total - a.total));
    for (const head of heads) head.setAttribute('aria-sort', head.dataset.by !== by ? 'none' : by === 'name' ? 'ascending' : 'descending');
    body.replaceChildren(...list.slice(0, shown).map((f) => h('tr', null,
      h('td', { class: 'fn' }, mark(f), button(shortName(f.name), () => pick(f.name), { class: 'plain', title: [f.name, f.file && `${f.file}:${f.line}`].filter(Boolean).join('\n') })),
      ...cells(f.self ?? 0, data), ...cells(f.total, data))));
    more.hidden = list.length <= shown;
    more.textContent = `Show more of ${count(list.length, 'function')}`;
    const all = data.functions.length + (data.functionsOmitted?.count ?? 0);
    const n = list.length + (omitted?.count ?? 0);
    found.textContent = !wanted ? count(all, 'function')
      : data.functionsOmitted && !complete ? 'searching \u2026'
        : `${n.toLocaleString('en')} of ${count(all, 'function')}`;
    note.hidden = !omitted;
    note.textContent = omitted ? `${count(omitted.count, 'function')} left out: ${value(omitted.self, data.unit)} by themselves together (${percent(omitted.self / (data.total || 1))}), each at most ${value(omitted.maxTotal, data.unit)} with what it calls. A filter finds them.` : '';
  }
  render();
  const element = h('section', { class: 'card functions' },
    h('div', { class: 'tools' }, search, found),
    h('table', null, h('thead', null, h('tr', null, heads[0], heads.slice(1).flatMap((head) => [head, h('td', { class: 'share' })]))), body),
    more,
    note);
  return {
    element,
    update(later) {
      data = later;
      searched = null;
      look();
    },
  };
}

function cells(v, data) {
  return [h('td', { class: 'num' }, value(v, data.unit)),
    h('td', { class: 'share' }, bar(v / (data.total || 1), 'cpu'), h('span', { class: 'muted' }, percent(v / (data.total || 1))))];
}
