// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, isFrozen, link, pageParams, remember, rememberTyped } from './api.js';
import { bar, button, h, swatch } from './dom.js';
import { Flame } from './flame.js';
import { TYPES, count, mark, packageColour, percent, sentence, shortName, typeColour, value } from './format.js';

const ROWS = 50;
const LINES = 3; // in a row of the table
const HEADS = [['name', 'Function', ''], ['self', 'Self', 'num'], ['total', 'Total', 'num']];

// linkOf leads to a line in its source, where that is known.
function linkOf(fn, line, text) {
  const title = `${fn.file}:${line}`;
  return fn.source ? h('a', { href: fn.source.replace('{line}', line), title, rel: 'noreferrer', target: '_blank' }, text) : h('span', { title }, text);
}

// linesOf returns the lines of a function with most of a value, in one line of text.
function linesOf(fn, by, total) {
  const column = by === 'total' ? 2 : 1;
  const all = fn.lines.filter((line) => line[column] > 0).sort((a, b) => b[column] - a[column]);
  if (!all.length) return null;
  const more = all.length - LINES;
  return h('div', { class: 'lines muted' }, all.slice(0, LINES).flatMap((line, i) => [i ? ', ' : '', linkOf(fn, line[0], `line ${line[0]}`), ` ${percent(line[column] / (total || 1))}`]), more > 0 && `, ${count(more, 'more line')}`);
}

// functionsView lists the functions in the order of the address. pick is called with a name.
export function functionsView(data, graph, pick) {
  const params = pageParams();
  let by = HEADS.some(([key]) => key === params.get('sort')) ? params.get('sort') : 'self';
  let shown = ROWS;
  const body = h('tbody');
  const more = button('', () => { shown += 10 * ROWS; render(); }, { class: 'cutoff' });
  const found = h('output', { class: 'found' });
  const search = h('input', { type: 'search', placeholder: 'Filter functions  ( / )', 'aria-label': 'Filter functions', 'data-search': '', spellcheck: 'false', autocomplete: 'off', oninput: () => { shown = ROWS; render(); } });
  rememberTyped(search, () => ({ filter: search.value.trim() }));
  search.value = params.get('filter') ?? '';
  const heads = HEADS.map(([key, text, cls]) =>
    h('th', { scope: 'col', class: cls, 'data-by': key }, button(text, () => { by = key; remember({ filter: search.value.trim(), sort: by === 'self' ? '' : by }); render(); }, { class: 'sort' })));

  function render() {
    const all = graph.list();
    const hits = graph.find(search.value);
    const list = all.filter((f) => !hits || hits.has(f.fn)).sort((a, b) => (by === 'name' ? a.name.localeCompare(b.name) : b[by] - a[by] || b.total - a.total));
    for (const head of heads) head.setAttribute('aria-sort', head.dataset.by !== by ? 'none' : by === 'name' ? 'ascending' : 'descending');
    body.replaceChildren(...list.slice(0, shown).map((f) => h('tr', null,
      h('td', { class: 'fn' }, mark(f), button(shortName(f.name), () => pick(f.name), { class: 'plain', title: [f.name, f.file && `${f.file}:${f.line}`].filter(Boolean).join('\n') }), linesOf(f, by, data.total)),
      ...[f.self, f.total].flatMap((v) => cells(v, data)))));
    more.hidden = list.length <= shown;
    more.textContent = `Show more of ${count(list.length, 'function')}`;
    found.textContent = hits ? `${list.length.toLocaleString('en')} of ${count(all.length, 'function')}` : count(all.length, 'function');
  }
  render();
  const element = h('section', { class: 'card functions' },
    h('div', { class: 'tools' }, search, found),
    h('table', null, h('thead', null, h('tr', null, heads[0], heads.slice(1).flatMap((head) => [head, h('td', { class: 'share' })]))), body),
    more);
  return {
    element,
    update(later, laterGraph) {
      data = later;
      graph = laterGraph;
      render();
    },
  };
}

const cells = (v, data) => [h('td', { class: 'num' }, value(v, data.unit)),
  h('td', { class: 'share' }, bar(v / (data.total || 1), 'cpu'), h('span', { class: 'muted' }, percent(v / (data.total || 1))))];

// callersView shows a function between its callers and its callees, or a list to choose from.
export function callersView(data, graph, name, pick) {
  if (!name) return [h('p', { class: 'muted legend' }, 'Choose a function to see its callers and its callees.'), functionsView(data, graph, pick).element];
  const types = graph.list().filter((f) => f.name === name);
  const { callers, callees } = graph.focus(name);
  const total = callees.frames[0].total;
  if (!types.length || !total) return [h('p', { class: 'note' }, `No stack of this profile has a function ${name}.`)];
  const draw = (part, label, flipped) => new Flame({ graph: part, unit: data.unit, label: `${label} of ${name}`, whole: data.total, flipped, simple: true, onfunction: pick }).element;
  const share = (v) => `${value(v, data.unit)}, ${percent(v / (data.total || 1))} of the total`;
  return [h('div', { class: 'callers' },
    h('section', { class: 'card about-function' }, h('h2', { class: 'code' }, mark(types[0]), name),
      h('p', null, `Self ${share(types.reduce((sum, f) => sum + f.self, 0))} \u00b7 with its callees ${share(total)}`),
      types.map((f) => linesTable(data, f))),
    h('h3', null, 'Callers'), callers.frames.length > 1 ? draw(callers, 'Callers', true) : h('p', { class: 'muted' }, 'It has no caller: it is at the root of its stacks.'),
    h('h3', null, 'Callees'), callees.frames.length > 1 ? draw(callees, 'Callees', false) : h('p', { class: 'muted' }, 'No sample has a callee of it.'))];
}

// linesTable has the values of each line of a function, with its text where the viewer has it.
function linesTable(data, f) {
  if (!f.lines.length) return f.file && h('p', { class: 'muted code' }, f.file);
  const rows = f.lines.map((line) => h('tr', { 'data-line': line[0] }, h('td', null, linkOf(f, line[0], `line ${line[0]}`), data.sourceText && !isFrozen && text(f, line[0])), ...[line[1], line[2]].flatMap((v) => cells(v, data))));
  return h('div', { class: 'functions' }, h('p', { class: 'muted code' }, f.file),
    h('table', null, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Line'), ['Self', 'Total'].flatMap((head) => [h('th', { scope: 'col', class: 'num' }, head), h('td', { class: 'share' })]))),
      h('tbody', null, rows.slice(0, 10))),
    rows.length > 10 && h('details', null, h('summary', null, count(rows.length - 10, 'more line')), h('table', null, h('tbody', null, rows.slice(10)))));
}

// text is the source around a line, loaded when it is opened.
function text(f, line) {
  const place = h('pre', null, 'Loading \u2026');
  return h('details', { ontoggle: async (e) => {
    if (!e.target.open) return;
    try {
      const source = await get(link('source', { package: f.name.startsWith('main.') ? 'main' : f.package, file: f.file, line, format: 'json' }));
      place.replaceChildren(...source.lines.map((one, i) => h(source.first + i === line ? 'b' : 'span', null, `${String(source.first + i).padStart(5)}  ${one}\n`)));
    } catch (err) {
      place.textContent = sentence(err.message);
    }
  } }, h('summary', null, 'text'), place);
}

const SHOWN = 8; // packages in the legend

// colourLegend names the colours of a graph: types of frames of a host, else the biggest packages.
export function colourLegend(data, flame) {
  const share = (self) => h('span', { class: 'muted' }, percent(self / (data.total || 1)));
  const all = data.frameTypes ? [] : flame.graph.packages();
  const parts = data.frameTypes?.map(({ type, self }) => [mark({ type }) + TYPES[type].title, self, TYPES[type].mark, `Mark the frames of this type, or search for ${TYPES[type].mark}`, (dark) => typeColour(type, dark)])
    ?? all.slice(0, SHOWN).filter(([name]) => name).map(([name, self]) => [name, self, `${name}.`, `Mark the functions of ${name}`, (dark) => packageColour(name, dark)]);
  const others = all.length - parts.length;
  const rest = all.reduce((sum, [, self]) => sum + self, 0) - parts.reduce((sum, [, self]) => sum + self, 0);
  return h('div', { class: data.frameTypes ? 'chips types' : 'chips', 'aria-label': data.frameTypes ? 'Types of frames by what they take themselves' : 'Packages by what they take themselves' },
    parts.map(([text, self, search, title, colour]) => button([swatch(colour), text, share(self)], () => flame.find(flame.search.value === search ? '' : search), { class: 'chip', title })),
    others > 0 && h('span', { class: 'muted' }, `${count(others, 'other package')} `, share(rest)));
}
