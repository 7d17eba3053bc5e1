// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { asJSON, get, remember, rememberTyped } from './api.js';
import { copyButton } from './copy.js';
import { bar, button, h } from './dom.js';
import { Flame } from './flame.js';
import { count, percent, sentence, shortName, value } from './format.js';
import { mark } from './legends.js';

const ROWS = 100;
const HEADS = [['name', 'Function', ''], ['self', 'Self', 'num'], ['total', 'Total', 'num']];

// functionsView lists the functions, to be sorted and filtered; the address has the order
// and the filter. pick is called with the name of one. Where the list is not complete, ask
// searches in all functions.
export function functionsView(data, pick, ask) {
  const params = new URLSearchParams(location.search);
  let by = HEADS.some(([key]) => key === params.get('sort')) ? params.get('sort') : 'self';
  let shown = ROWS;
  const body = h('tbody');
  const more = button('', () => { shown += 10 * ROWS; render(); }, { class: 'cutoff' });
  let searched = null; // what the server found: {text, functions, functionsOmitted}
  let asked = null;
  let typing;
  const note = h('p', { class: 'muted' });
  const found = h('output', { class: 'found' });
  const search = h('input', { type: 'search', placeholder: 'Filter functions  ( / )', 'aria-label': 'Filter functions', 'data-search': '', spellcheck: 'false', autocomplete: 'off', oninput: () => { shown = ROWS; look(); } });
  rememberTyped(search, () => ({ filter: search.value.trim() }));
  search.value = params.get('filter') ?? '';
  const heads = HEADS.map(([key, text, cls]) =>
    h('th', { scope: 'col', class: cls, 'data-by': key }, button(text, () => { by = key; remember({ filter: search.value.trim(), sort: by === 'self' ? '' : by }); render(); }, { class: 'sort' })));

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
  look();
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

// sandwichView shows a function between its callers and its callees. Without a name it
// shows a list to choose from.
export function sandwichView(data, name, functions, pick, ask) {
  if (!name) return [h('p', { class: 'muted legend' }, 'Choose a function to see what called it and what it called.'), functionsView(data, pick, ask).element];
  const place = h('div', { class: 'sandwich', 'aria-busy': 'true' }, h('p', { class: 'muted' }, 'Looking for its callers and callees \u2026'));
  fill(place, data, name, functions, pick, ask).finally(() => place.removeAttribute('aria-busy'));
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
}

// executablesView lists the programs and libraries that the code is from.
export function executablesView(data) {
  const total = data.total || 1;
  return h('section', { class: 'card executables' }, h('table', null,
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Executable'), h('th', { scope: 'col' }, 'Build id'),
      h('th', { scope: 'col', class: 'num', title: 'What ran in it' }, 'Self'), h('td', { class: 'share' }), h('th', { scope: 'col', class: 'num', title: 'What it or its callees took' }, 'Total'), h('td', { class: 'share' }))),
    h('tbody', null, data.executables.map((x) => h('tr', null,
      h('td', { class: 'fn' }, x.file || h('i', null, 'not known')),
      h('td', { class: 'code build' }, x.buildId || '\u2013', x.buildId && copyButton('Copy', () => x.buildId, { class: 'tiny', 'aria-label': 'Copy build id' })),
      ...[x.self, x.total].flatMap((v) => [h('td', { class: 'num' }, value(v, data.unit)), h('td', { class: 'share' }, bar(v / total, 'cpu'), h('span', { class: 'muted' }, percent(v / total)))]))))));
}
