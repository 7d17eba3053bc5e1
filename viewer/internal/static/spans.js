// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link, range } from './api.js';
import { byAttribute } from './attributes.js';
import { restRow, unfolding } from './children.js';
import { CONDITIONS, conditionChips, dropConditions } from './conditions.js';
import { button, choice, h } from './dom.js';
import { findBox } from './findbox.js';
import { capital, count, sentence, wall } from './format.js';
import { morph, refill } from './keep.js';
import { names } from './names.js';
import { rowsIn } from './portions.js';
import { selfCheck } from './selfcheck.js';
import { spanRow, tell } from './spanrow.js';
import { strip } from './strip.js';

const LIMIT = 500;
// MOST rows are what a browser shows without delay.
const MOST = 1000;
// LONGEST is the longest expression that fits into a query.
const LONGEST = 15000;
const ORDERS = [['newest', 'Newest'], ['slowest', 'Slowest'], ['cpu', 'Most CPU']];
const LEAST = [['', 'any length'], ['1ms', '\u2265 1 ms'], ['10ms', '\u2265 10 ms'], ['100ms', '\u2265 100 ms'], ['1s', '\u2265 1 s'], ['10s', '\u2265 10 s']];

// spansView lists the spans. It keeps its controls while update brings data.
export function spansView() {
  const params = new URLSearchParams(location.search);
  const asked = params.get('limit');
  // The server refuses what is not a number.
  const limit = Number(asked) > MOST ? String(MOST) : asked || String(LIMIT);
  let data = null;
  let asking = '';
  let answered = ''; // the conditions that data is the answer to
  let reload = () => {};
  let windows = ''; // what the time line is of
  let list; // the section of the rows
  let on = true;
  let items = []; // of the rows
  let most = 1; // the time that a whole bar is
  let now; // on the server

  const set = (key, v) => {
    if (v) params.set(key, v);
    else params.delete(key);
    history.replaceState(null, '', link('', params));
    reload();
  };
  const box = findBox({
    filter: (text) => set('filter', text),
    conditions: (more, alone) => {
      params.delete('filter');
      if (alone) dropConditions(params, data?.ranged);
      errors.checked = params.get('error') === 'true';
      least.value = params.get('min') ?? '';
      for (const [key, v] of Object.entries(more)) params.set(key, v);
      set('format', '');
    },
    remote: () => (data ? Boolean(data.ranged) : undefined),
  });
  const filter = box.input;
  filter.value = params.get('filter') ?? '';
  const order = params.get('order') ?? 'newest';
  const orders = choice('Order', ORDERS, order, (key) => set('order', key === 'newest' ? '' : key));
  const slow = orders.querySelector('[value=slowest]').parentElement;
  const errors = h('input', { type: 'checkbox', checked: params.get('error') === 'true', onchange: () => set('error', errors.checked ? 'true' : '') });
  const lengths = LEAST.some(([k]) => k === (params.get('min') ?? '')) ? LEAST : [...LEAST, [params.get('min'), `\u2265 ${params.get('min')}`]];
  const failed = h('label', { class: 'check' }, errors, 'Errors');
  const least = h('select', { 'aria-label': 'Least wall time', onchange: () => set('min', least.value) }, lengths.map(([key, text]) => h('option', { value: key, selected: key === (params.get('min') ?? '') }, text)));
  const live = h('input', { type: 'checkbox', checked: true, onchange: () => { on = live.checked; } });
  const polls = h('label', { class: 'check' }, live, 'Live');
  const shown = h('span', { class: 'muted count' });
  const together = button('Flame graph of these', () => { location.href = link('', { query: listed(data.spans).query }); });
  const conditions = h('div', { class: 'chips conditions', hidden: true });
  const rows = h('tbody');
  const shownRows = rowsIn(rows, (row, { span }) => span && tell(row, span, now, most));
  const head = h('th', { scope: 'col' }, 'Ended');
  const table = h('table', { class: 'spans' },
    h('thead', null, h('tr', null,
      h('th', { scope: 'col' }, 'Span'), head,
      h('th', { scope: 'col', class: 'bars' }, h('span', { class: 'key wall' }, 'Wall'), ' ', h('span', { class: 'key cpu' }, 'CPU')),
      h('th', { scope: 'col', class: 'num' }, 'Wall'), h('th', { scope: 'col', class: 'num' }, 'CPU'), h('th', { scope: 'col', class: 'num' }, 'Samples'))),
    rows);
  const empty = h('div', { class: 'card empty', hidden: true });
  const aside = names();
  const sums = byAttribute((key) => set('by', key));
  const folded = unfolding(() => render(true));
  const line = strip('');
  const checked = selfCheck();
  const note = h('p', { class: 'note', hidden: true });
  const byID = idForm();
  const whole = h('nav', { class: 'tabs kinds', 'aria-label': 'Whole process', hidden: true });

  table.addEventListener('keydown', (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
    if (!step) return;
    const links = [...rows.querySelectorAll('a.name')];
    const next = links[links.indexOf(document.activeElement) + step];
    if (next) { e.preventDefault(); next.focus(); }
  });

  // render shows the data; changed says that rows that are not in it are to go at once.
  function render(changed) {
    const { spans } = data;
    const many = new Set(data.groups.map((g) => g.service)).size > 1;
    // A span that still runs may be days old: it would shrink all other bars.
    const lengths = spans.filter((s) => !s.running).map((s) => Math.max(wall(s) ?? 0, s.below > 0 ? s.cpuInclusiveNs : s.cpuNs));
    most = Math.max(1, ...(lengths.length ? lengths : spans.map((s) => s.durationNs)));
    const byKey = new Map();
    const add = (s) => {
      // What is below a span may match the conditions itself, too.
      if (!byKey.has(s.profileId)) byKey.set(s.profileId, { key: s.profileId, of: { span: s, many, open: folded.open(s) }, make: () => spanRow(s, many, data.ranged, folded.toggle(s)) });
    };
    for (const s of spans) {
      add(s);
      folded.below(s).forEach(add);
      const rest = folded.rest(s);
      if (rest) byKey.set(`below ${s.profileId}`, { key: `below ${s.profileId}`, of: { rest }, make: () => restRow(s, rest) });
    }
    items = [...byKey.values()];
    fill(changed);
    shown.textContent = spans.length < Number(limit) ? count(spans.length, 'span') : `the first ${count(spans.length, 'span')}`;
    shown.title = Number(asked) > MOST ? `This page shows no more than ${MOST.toLocaleString('en')}: format=json and format=text do` : '';
    if (shown.title) shown.textContent += ', no more fit here';
    const { n, all } = listed(spans);
    polls.hidden = Boolean(data.fixed);
    // What is ranged knows no wall time and no errors.
    for (const control of [slow, failed, least]) control.hidden = Boolean(data.ranged);
    head.textContent = data.ranged ? 'Profiled' : 'Ended';
    byID.hidden = !data.fixed;
    note.hidden = !data.note;
    note.textContent = data.note ? sentence(data.note) : '';
    together.hidden = n === 0;
    together.textContent = n === all ? 'Flame graph of these' : `Flame graph of the first ${n.toLocaleString('en')}`;
    table.hidden = spans.length === 0;
    empty.hidden = spans.length > 0;
    if (!spans.length) morph(empty, h('div', { class: 'card empty' }, whyEmpty()));
    conditionChips(conditions, params, () => set('format', ''));
    aside.update(data, (params.get('filter') ?? '').toLowerCase(), changed);
    sums.update(data, '');
    whole.hidden = data.process.length === 0;
    refill(whole, data.process.flatMap((p, i) => [
      p.service !== data.process[i - 1]?.service || i === 0 ? h('span', { class: 'muted', 'data-key': `service ${p.service}` }, p.service ?? 'Whole process') : null,
      h('a', { href: link('', { query: p.query, ...(data.ranged && range()) }), title: capital(p.measure), 'data-key': p.query }, p.label)].filter(Boolean)));
  }

  function fill(changed) {
    now = data.status ? new Date(data.status.now) : new Date();
    shownRows.fill(items, changed);
  }

  function whyEmpty() {
    if (['filter', 'error', 'min', ...Object.keys(CONDITIONS)].some((k) => params.get(k))) {
      return [h('h2', null, 'No span meets these conditions'), h('p', null, !data.fixed && ['The store holds ', count(data.stats.spans, 'ended span'), '. '], h('a', { href: './' }, 'Show them without conditions.'))];
    }
    if (data.fixed) return [h('h2', null, 'No span is listed here'), h('p', null, 'Ask for one by its id above, or choose a profile of a whole service.')];
    if (data.status?.running === false) return [h('h2', null, 'No spans, and nothing is being profiled'), h('p', null, sentence(data.status.message))];
    if (data.status?.host) {
      return [h('h2', null, 'No span has been seen yet'),
        h('p', null, 'Spans show up here when the agent has sent samples with their labels. This page looks for them every two seconds.'),
        h('p', { class: 'muted' }, 'If this stays empty: do the programs label their spans, as package spanprof does, and does the agent read labels (-t all,labels)?')];
    }
    return [h('h2', null, 'No span has ended yet'),
      h('p', null, 'Spans show up here when they end, their samples when the profiling window around them closes. This page looks for them every two seconds.')];
  }

  const element = h('div', null, h('h1', { class: 'sr' }, 'Spans'), checked.element, line.element, h('div', { class: 'list' },
    list = h('section', { 'aria-label': 'Spans' },
      h('div', { class: 'tools' }, filter, orders, failed, least, polls, h('span', { class: 'grow' }), shown, together),
      box.told, conditions, note, byID, whole, table, empty),
    h('div', { class: 'asides' }, aside.element, sums.element)));
  return {
    element,
    // busy says that the rows are not yet those of the conditions and the order above them.
    busy(on) {
      const old = on && asking !== answered;
      list.setAttribute('aria-busy', String(old));
      list.classList.toggle('old', old);
      if (on && !data) shown.textContent = 'Looking for spans \u2026';
    },
    attach(load) { reload = load; },
    poll: () => on && !data?.fixed && !shownRows.busy() && !aside.busy(),
    address() {
      const p = new URLSearchParams(params);
      p.set('format', 'json');
      p.set('limit', limit);
      // The server need not send again what is here.
      asking = `${p}`;
      if (data && answered === asking) return `./?${p}&since=${data.generation}`;
      return `./?${p}`;
    },
    update(answer) {
      checked.update(answer.status?.selfCheck);
      if (answer.unchanged) {
        data.status = answer.status;
        fill();
        return;
      }
      const changed = answered !== asking;
      data = answer;
      answered = asking;
      document.title = `${data.services ? `${data.services.length} services \u00b7 ` : data.service ? `${data.service} \u00b7 ` : ''}spanprof`;
      render(changed);
      box.known();
      const about = JSON.stringify([data.stats.windowsReceived, data.work, data.workNote]);
      if (about === windows) return;
      windows = about;
      line.load(data.ranged, data.work ?? '', data.workNote).catch(() => { if (windows === about) windows = ''; });
    },
  };
}

// idForm asks for a span by its id, where not every span is in the list.
function idForm() {
  const id = h('input', { name: 'id', size: 24, 'aria-label': 'Span or profile id', placeholder: 'Id of a span', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' });
  const go = (e) => {
    e.preventDefault();
    if (id.value.trim()) location.href = link('', { query: `.cpu{profile_id=${JSON.stringify(id.value.trim())}}`, ...range() });
  };
  return h('form', { class: 'query', hidden: true, onsubmit: go }, id, h('button', null, 'Show'));
}

// listed returns the query for the profile of all spans that have one, or of as many as
// fit into a query: CPU, or wall time if they only waited.
function listed(spans) {
  const having = (samples) => spans.filter((s) => s.samplesHeld > 0 && s[samples] > 0).map((s) => s.profileId.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  // Of requests, the work below them counts too: they are listed by their traces.
  if (spans.some((s) => s.below > 0)) {
    const traces = [...new Set(spans.map((s) => s.traceId).filter(Boolean))];
    const some = traces.slice(0, Math.floor(LONGEST / 33));
    return { n: some.length, all: traces.length, query: `.cpu{trace_id=~${JSON.stringify(some.join('|'))}}` };
  }
  const cpu = having('cpuSamples');
  const ids = cpu.length ? cpu : having('wallSamples');
  const bytes = new TextEncoder();
  let room = LONGEST;
  // Quoted, a backslash takes two.
  const cut = ids.findIndex((id) => (room -= bytes.encode(JSON.stringify(id)).length - 1) < 0);
  const some = cut < 0 ? ids : ids.slice(0, cut);
  return { n: some.length, all: ids.length, query: `.${cpu.length ? 'cpu' : 'wall'}{profile_id=~${JSON.stringify(some.join('|'))}}` };
}
