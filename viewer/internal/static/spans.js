// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { CONDITIONS, dropConditions, go, isFrozen, link, pageParams, range, remember } from './api.js';
import { button, choice, h, morph, refill, showNote } from './dom.js';
import { capital, count, sentence, wall } from './format.js';
import { conditionChips, names } from './names.js';
import { downloads } from './profile.js';
import { differing, restRow, spanRow, unfolding } from './span.js';
import { selfCheck } from './status.js';
import { strip } from './strip.js';

// LIMITS are the numbers of rows. A browser shows the last without delay.
const LIMITS = [100, 500, 1000];
// TOGETHER is the number of spans or traces with room in a query.
const TOGETHER = 400;
const ORDERS = [['newest', 'Newest'], ['slowest', 'Slowest'], ['cpu', 'Most CPU']];
const LEAST = [['', 'any length'], ['1ms', '\u2265 1 ms'], ['10ms', '\u2265 10 ms'], ['100ms', '\u2265 100 ms'], ['1s', '\u2265 1 s'], ['10s', '\u2265 10 s']];

// spansView lists the spans. It keeps its controls while update brings data.
export function spansView(reload) {
  const param = (key) => pageParams().get(key) ?? '';
  const limit = () => {
    const asked = param('limit');
    // The server refuses text without a number.
    return Number(asked) > LIMITS.at(-1) ? LIMITS.at(-1) : asked || LIMITS[0];
  };
  let data = null;
  let windows = ''; // the data of the time line
  const set = (key, v) => {
    remember({ [key]: v });
    reload();
  };
  const box = findBox({
    filter: (text) => set('filter', text),
    conditions: (more, alone) => {
      const params = pageParams();
      params.delete('filter');
      if (alone) dropConditions(params, data?.ranged);
      for (const [key, v] of Object.entries(more)) params.set(key, v);
      go(`?${params}`, true);
      errors.checked = param('error') === 'true';
      least.value = param('min');
      reload();
    },
    live: () => data && !data.ranged,
  });
  box.value = param('filter');
  const orders = choice('Order', ORDERS, param('order') || 'newest', (key) => set('order', key === 'newest' ? '' : key));
  const slow = orders.querySelector('[value=slowest]').parentElement;
  const errors = h('input', { type: 'checkbox', checked: param('error') === 'true', onchange: () => set('error', errors.checked ? 'true' : '') });
  const lengths = LEAST.some(([k]) => k === param('min')) ? LEAST : [...LEAST, [param('min'), `\u2265 ${param('min')}`]];
  const failed = h('label', { class: 'check' }, errors, 'Errors');
  const least = h('select', { 'aria-label': 'Least wall time', onchange: () => set('min', least.value) }, lengths.map(([key, text]) => h('option', { value: key, selected: key === param('min') }, text)));
  const live = h('input', { type: 'checkbox', checked: true });
  const polls = h('label', { class: 'check' }, live, 'Live');
  const shown = h('span', { class: 'muted count' }, 'Loading spans \u2026');
  const together = button('Flame graph of these', () => { location.href = link('', { query: listed(data.spans).query }); });
  const conditions = h('div', { class: 'chips conditions', hidden: true });
  const rows = h('tbody');
  const more = button('', () => set('limit', LIMITS.find((n) => n > limit())), { class: 'cutoff', hidden: true });
  const head = h('th', { scope: 'col' }, 'Ended');
  const table = h('table', { class: 'spans' },
    h('thead', null, h('tr', null,
      h('th', { scope: 'col' }, 'Span'), head,
      h('th', { scope: 'col', class: 'bars' }, h('span', { class: 'key wall' }, 'Wall'), ' ', h('span', { class: 'key cpu' }, 'CPU')),
      h('th', { scope: 'col', class: 'num' }, 'Wall'), h('th', { scope: 'col', class: 'num' }, 'CPU'), h('th', { scope: 'col', class: 'num' }, 'Samples'))),
    rows);
  const empty = h('div', { class: 'card empty', hidden: true });
  const aside = names();
  const folded = unfolding(() => render());
  const line = strip();
  const checked = selfCheck();
  const note = h('p', { class: 'note', hidden: true });
  const whole = h('nav', { class: 'tabs kinds', 'aria-label': 'Whole process', hidden: true });
  const share = h('div', { class: 'actions' }, downloads({ query: '.cpu{}', ...range() }, () => link('', pageParams())));

  table.addEventListener('keydown', (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
    if (!step) return;
    const links = [...rows.querySelectorAll('a.name')];
    const next = links[links.indexOf(document.activeElement) + step];
    if (next) { e.preventDefault(); next.focus(); }
  });

  function render() {
    const { spans } = data;
    const many = new Set(data.groups.map((g) => g.service)).size > 1;
    // A running span may be days old: it would shrink all other bars.
    const lengths = spans.filter((s) => !s.running).map((s) => Math.max(wall(s) ?? 0, s.below > 0 ? s.cpuInclusiveNs : s.cpuNs));
    const most = Math.max(1, ...(lengths.length ? lengths : spans.map((s) => s.durationNs)));
    const now = data.status ? new Date(data.status.now) : new Date();
    const of = differing(spans);
    const byKey = new Map();
    const add = (s) => {
      // A span below another one may match the conditions itself, too.
      if (byKey.has(s.profileId)) return;
      const row = spanRow(s, { many, ranged: data.ranged, toggle: folded.toggle(s), attributes: of.get(s.profileId), now, most });
      row.setAttribute('data-key', s.profileId);
      byKey.set(s.profileId, row);
    };
    for (const s of spans) {
      add(s);
      folded.below(s).forEach(add);
      const rest = folded.rest(s);
      if (rest) byKey.set(`below ${s.profileId}`, restRow(s, rest));
    }
    refill(rows, [...byKey.values()]);
    const cut = spans.length >= Number(limit());
    shown.textContent = cut ? `the first ${count(spans.length, 'span')}` : count(spans.length, 'span');
    const next = LIMITS.find((n) => n > limit());
    more.hidden = !cut;
    more.disabled = !next;
    more.textContent = next ? `Show up to ${next.toLocaleString('en')}` : 'No more fit here: narrow the conditions, or use format=json';
    const { n, all } = listed(spans);
    polls.hidden = Boolean(data.fixed);
    // A ranged source has no wall times and no errors.
    for (const control of [slow, failed, least]) control.hidden = Boolean(data.ranged);
    head.textContent = data.ranged ? 'Profiled' : 'Ended';
    showNote(note, data.note);
    together.hidden = n === 0;
    together.textContent = n === all ? 'Flame graph of these' : `Flame graph of the first ${n.toLocaleString('en')}`;
    table.hidden = spans.length === 0;
    empty.hidden = spans.length > 0;
    if (!spans.length) morph(empty, h('div', { class: 'card empty' }, whyEmpty(data, ['filter', 'error', 'min', ...Object.keys(CONDITIONS)].some(param))));
    conditionChips(conditions, reload);
    aside.update(data, param('filter').toLowerCase());
    // The first page of a host's viewer lists its programs.
    whole.hidden = data.process.length === 0 || Boolean(data.status?.host);
    table.classList.toggle('timeless', spans.length > 0 && spans.every((s) => !s.running && wall(s) == null));
    refill(whole, data.process.flatMap((p, i) => [
      p.service !== data.process[i - 1]?.service || i === 0 ? h('span', { class: 'muted', 'data-key': `service ${p.service}` }, p.service ?? 'Whole process') : null,
      h('a', { href: link('', { query: p.query, ...(data.ranged && range()) }), title: capital(p.measure), 'data-key': p.query }, p.label)].filter(Boolean)));
  }

  const list = h('section', { 'aria-label': 'Spans' },
    h('div', { class: 'tools' }, !isFrozen && [box, orders, failed, least, polls], h('span', { class: 'grow' }), shown, !isFrozen && together),
    conditions, note, whole, table, empty, more, share);
  const above = h('div');
  const below = h('div', null, checked.element);
  const element = h('div', null, h('h1', { class: 'sr' }, 'Spans'), above, line.element, h('div', { class: 'list' }, list, h('div', { class: 'asides' }, aside.element)), below);
  return {
    element,
    list,
    paused: () => !live.checked,
    address() {
      const p = pageParams();
      p.set('format', 'json');
      p.set('limit', limit());
      return `./?${p}`;
    },
    update(answer) {
      checked.update(answer.status?.selfCheck);
      // A finding stands above the list.
      const place = checked.wrong() ? above : below;
      if (checked.element.parentNode !== place) place.append(checked.element);
      data = answer;
      document.title = `${data.services ? `${data.services.length} services \u00b7 ` : data.service ? `${data.service} \u00b7 ` : ''}spanprof`;
      render();
      const about = JSON.stringify([data.stats.windowsReceived, data.work, data.workNote]);
      if (about === windows) return;
      windows = about;
      line.load(data.ranged, data.work, data.workNote).catch(() => { if (windows === about) windows = ''; });
    },
  };
}

// whyEmpty is why a list has no span. The server has the reason.
const whyEmpty = (data, conditions) => [
  h('h2', null, conditions ? 'No span meets these conditions' : 'No span is listed'),
  h('p', null, sentence(data.empty), conditions && [' ', h('a', { href: link('') }, 'Show spans without conditions.')]),
  !data.fixed && h('p', { class: 'muted' }, 'This page polls every two seconds.')];

// understood returns {href} for a page, {list} for conditions, or null for a part of names. A line
// of a log may have ids.
export function understood(text) {
  const span = /\b[0-9a-f]{16}\b/i.exec(text)?.[0];
  const trace = /\b[0-9a-f]{32}\b/i.exec(text)?.[0];
  if (/^[\w.:/-]*\{.*\}$/s.test(text)) return { href: link('', { query: text, ...range() }) };
  if (span) return { href: link('', { query: `.cpu{profile_id="${span.toLowerCase()}"}` }) };
  if (trace) return { list: { trace: trace.toLowerCase() }, alone: true };
  if (/^[\w.-]+=\S/.test(text)) return { list: { attribute: text } };
  return null;
}

// findBox is the one box. conditions is called with {key: value}, and whether others are dropped.
function findBox({ filter, conditions, live }) {
  let typing;
  const find = () => {
    clearTimeout(typing);
    const text = input.value.trim();
    const meaning = text && understood(text);
    if (!meaning) filter(text);
    else if (meaning.href) location.href = meaning.href;
    else {
      input.value = '';
      conditions(meaning.list, meaning.alone);
    }
  };
  const input = h('input', { type: 'search', placeholder: 'Id, name, attribute, error or query  ( / )', title: 'Filters by a part of names, errors and attributes. Enter also takes the id of a span or a trace, a line of a log with one, key=value, or a FlameQL query',
    'aria-label': 'Find spans: filters while you write; Enter also takes an id, key=value or a query', 'data-search': '', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
    oninput: () => {
      clearTimeout(typing);
      typing = setTimeout(() => { if (live() && !understood(input.value.trim())) filter(input.value.trim()); }, 150);
    },
    onpaste: (e) => {
      const meaning = understood(e.clipboardData?.getData('text').trim() ?? '');
      // The text is in the box after this event.
      if (meaning && !meaning.list?.attribute) setTimeout(find);
    },
    onkeydown: (e) => { if (e.key === 'Enter') find(); } });
  return input;
}

// listed returns the query of the spans with samples: by CPU time, or by wall time if they only
// waited. Requests include the work below them: their traces are listed.
export function listed(spans) {
  const having = (samples) => spans.filter((s) => s.samplesHeld > 0 && s[samples] > 0).map((s) => s.profileId.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const traces = spans.some((s) => s.below > 0) && [...new Set(spans.map((s) => s.traceId).filter(Boolean))];
  const cpu = traces || having('cpuSamples');
  const ids = traces || cpu.length ? cpu : having('wallSamples');
  const some = ids.slice(0, TOGETHER);
  return { n: some.length, all: ids.length, query: `.${traces || cpu.length ? 'cpu' : 'wall'}{${traces ? 'trace_id' : 'profile_id'}=~${JSON.stringify(some.join('|'))}}` };
}
