// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { comparison, link } from './api.js';
import { bar, button, h } from './dom.js';
import { count, duration, sentence } from './format.js';
import { refill } from './keep.js';

const SHOWN = 100;

// telling returns the attributes that say more than the name of the span does.
const telling = (s) => (s.attributes ?? []).filter((a) => !s.name.includes(a.value));

const OMITTED = 'Some are left out: there was no room, or the span has more attributes or events than are looked at.';

const written = (a) => `${a.key} = ${a.value}${a.child ? ` (${a.child})` : ''}`;

// attributeLine says in one line which request a span was; null if nothing does.
export function attributeLine(s) {
  const list = telling(s);
  const omitted = s.attributesOmitted && OMITTED;
  if (!list.length && !omitted) return null;
  return h('div', { class: 'attributes', title: [...list.map(written), omitted].filter(Boolean).join('\n') },
    list.map((a) => h('span', null, h('span', { class: 'muted' }, `${a.key} `), a.value)),
    omitted && h('span', { class: 'muted' }, list.length ? '\u2026' : 'Some attributes are left out'));
}

// attributeTable lists all attributes of a span, each with links to the spans that have
// it too; null if there is none.
export function attributeTable(s) {
  const all = s.attributes ?? [];
  if (!all.length && !s.attributesOmitted) return null;
  return h('details', { class: 'card described', open: all.length <= 8 },
    h('summary', null, h('h2', null, 'Attributes'), h('span', { class: 'muted' }, count(all.length, 'attribute'))),
    h('dl', null, all.map((a) => h('div', null,
      h('dt', null, a.key, a.child && h('span', { class: 'muted' }, ` (${a.child})`)),
      h('dd', null, h('code', { class: 'clamp', title: a.value }, a.value),
        h('span', { class: 'links' },
          h('a', { href: link('', { attribute: `${a.key}=${a.value}` }) }, 'spans'),
          h('a', { href: link('', { query: `.cpu{span.${a.key}=${JSON.stringify(a.value)}}` }) }, 'flame graph')))))),
    s.attributesOmitted && h('p', { class: 'muted' }, OMITTED));
}

// byAttribute sums spans by the values of one attribute; choose asks for another key.
export function byAttribute(choose) {
  let left = null;
  let data = null;
  let wanted = '';
  const key = h('select', { 'aria-label': 'Sum spans by attribute', onchange: () => choose(key.value) });
  const list = h('ul', { class: 'names' });
  const hint = h('p', { class: 'muted', hidden: true });
  const note = h('p', { class: 'note', hidden: true });
  const element = h('details', { class: 'card aside', open: matchMedia('(width >= 90rem)').matches || new URLSearchParams(location.search).has('by') },
    h('summary', null, h('h2', null, 'By attribute')), key, hint, note, list);

  function render() {
    const keys = data.attributeKeys ?? [];
    element.hidden = keys.length === 0 && !data.by;
    note.hidden = !data.by?.note;
    note.textContent = data.by?.note ? sentence(data.by.note) : '';
    const chosen = data.by?.key ?? '';
    if (document.activeElement !== key) {
      key.replaceChildren(h('option', { value: '', selected: !chosen }, 'choose one'),
        ...(chosen && !keys.some((k) => k.key === chosen) ? [h('option', { value: chosen, selected: true }, chosen)] : []),
        ...keys.map((k) => h('option', { value: k.key, selected: k.key === chosen }, `${k.key} (${k.spans.toLocaleString('en')})`)));
    }
    const values = (data.by?.values ?? []).filter((v) => v.value.toLowerCase().includes(wanted));
    const most = Math.max(1, ...values.map((v) => v.cpuNs));
    hint.hidden = !left;
    hint.replaceChildren('Choose what to compare with ', h('code', null, left?.value ?? ''), '. ', button('Do not compare', () => pick(null), { class: 'tiny' }));
    const more = values.length - SHOWN + (data.by?.valuesOmitted ?? 0);
    refill(list, [...values.slice(0, SHOWN).map((v) => row(v, most)),
      ...(more > 0 ? [h('li', { class: 'muted', 'data-key': 'omitted' }, `and ${count(more, 'value')} with less CPU`)] : []),
      ...(data.by && !values.length && (wanted || !data.by.note) ? [h('li', { class: 'muted', 'data-key': 'none' }, 'No span that is held has a value like that.')] : [])]);
  }

  function pick(v) {
    if (left && v && left.query !== v.query) location.href = comparison(left.query, {}, v.query, {});
    else left = v;
    render();
  }

  const row = (v, most) => h('li', { 'data-key': v.value },
    h('a', { class: 'name', href: link('', { query: v.query }), title: v.value }, v.value),
    bar(v.cpuNs / most, 'cpu'),
    h('span', { class: 'muted' },
      h('a', { href: link('', { attribute: `${data.by.key}=${v.value}`, order: 'slowest' }) }, count(v.spans, 'span')),
      v.errors > 0 && [', ', h('span', { class: 'err' }, count(v.errors, 'error'))],
      ` \u00b7 ${duration(v.cpuNs)} CPU${v.spans ? ` \u00b7 max ${duration(v.maxWallNs)} ` : ' '}`,
      button('Compare', () => pick(v), { class: 'tiny', 'aria-label': `Compare ${v.value}` })));

  return {
    element,
    update(answer, filter) {
      // Sums that are asked for anew are shown.
      if (answer.by && answer.by.key !== data?.by?.key) element.open = true;
      data = answer;
      wanted = filter;
      render();
    },
  };
}
