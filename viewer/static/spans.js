// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { bar, h, link, rawQuery } from './dom.js';
import { ago, capital, count, duration, sentence, spanTitle, time, value, wall } from './format.js';

const LIMIT = 500;
// MISSING is why a span has no samples, by its coverage.
const MISSING = { whole: 'no sample hit it', partial: 'no sample hit it; CPU was not profiled all the time', none: 'CPU was not profiled', evicted: 'its profile made room for newer ones' };
const ORDERS = [['newest', 'Newest'], ['slowest', 'Slowest'], ['cpu', 'Most CPU']];

// spansView lists the spans. It keeps its controls while update brings data.
export function spansView(reload) {
  const params = new URLSearchParams(location.search);
  const limit = params.get('limit') || String(LIMIT);
  const state = { order: params.get('order') ?? 'newest', filter: params.get('filter') ?? '', live: true };
  let data = null;

  const filter = h('input', { type: 'search', placeholder: 'Filter by name  ( / )', 'aria-label': 'Filter spans by name', 'data-search': '', spellcheck: 'false', autocomplete: 'off' });
  filter.value = state.filter;
  filter.addEventListener('input', () => { state.filter = filter.value; remember(); render(); });

  const orders = h('fieldset', { class: 'choice' }, h('legend', { class: 'sr' }, 'Order'), ORDERS.map(([key, text]) => {
    const radio = h('input', { type: 'radio', name: 'order', value: key, checked: key === state.order, onchange: () => { state.order = key; remember(); reload(); } });
    return h('label', null, radio, h('span', null, text));
  }));
  const live = h('input', { type: 'checkbox', checked: true, onchange: () => { state.live = live.checked; } });
  const shown = h('span', { class: 'muted' });
  const rows = h('tbody');
  const table = h('table', { class: 'spans' },
    h('thead', null, h('tr', null,
      h('th', { scope: 'col' }, 'Span'), h('th', { scope: 'col' }, 'Ended'),
      h('th', { scope: 'col', class: 'bars' }, h('span', { class: 'key wall' }, 'Wall'), ' ', h('span', { class: 'key cpu' }, 'CPU')),
      h('th', { scope: 'col', class: 'num' }, 'Wall'), h('th', { scope: 'col', class: 'num' }, 'CPU'), h('th', { scope: 'col', class: 'num' }, 'Samples'))),
    rows);
  const empty = h('div', { class: 'card empty', hidden: true });
  const names = h('ul', { class: 'names' });
  const aside = h('details', { class: 'card aside', open: matchMedia('(min-width: 70rem)').matches },
    h('summary', null, h('h2', null, 'By name'), h('span', { class: 'muted' }, 'one flame graph for all spans of a name')), names);
  const whole = h('p', { class: 'whole muted', hidden: true });
  const numbers = h('dl', { class: 'numbers' });
  const store = h('details', { class: 'store' }, h('summary', null, 'Store and counters'), numbers);

  table.addEventListener('keydown', (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
    if (!step) return;
    const links = [...rows.querySelectorAll('a.name')];
    const next = links[links.indexOf(document.activeElement) + step];
    if (next) { e.preventDefault(); next.focus(); }
  });

  function remember() {
    const p = new URLSearchParams();
    for (const kept of ['name', 'limit']) if (params.get(kept)) p.set(kept, params.get(kept));
    if (state.order !== 'newest') p.set('order', state.order);
    if (state.filter) p.set('filter', state.filter);
    history.replaceState(null, '', link('', p));
  }

  function render() {
    if (!data) return;
    const now = data.status ? new Date(data.status.now) : new Date();
    const wanted = state.filter.trim().toLowerCase();
    const spans = data.spans.filter((s) => spanTitle(s).toLowerCase().includes(wanted));
    const services = new Set(data.groups.map((g) => g.service));
    const most = Math.max(1, ...spans.map((s) => Math.max(wall(s) ?? 0, s.cpuNs)));
    const focused = document.activeElement?.dataset?.id;
    rows.replaceChildren(...spans.map((s) => spanRow(s, most, now, services.size > 1)));
    if (focused) rows.querySelector(`a[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    shown.textContent = spans.length < data.spans.length ? `${spans.length.toLocaleString('en')} of ${count(data.spans.length, 'span')}`
      : data.spans.length < Number(limit) ? count(spans.length, 'span') : `the first ${count(spans.length, 'span')}`;

    table.hidden = spans.length === 0;
    empty.hidden = spans.length > 0;
    if (data.spans.length) {
      empty.replaceChildren(h('h2', null, 'No span has this in its name'), h('p', null, 'The filter looks at the spans that are listed here, and at nothing but their names.'));
    } else if (params.get('name')) {
      empty.replaceChildren(h('h2', null, 'No span has this name'), h('p', null, h('code', null, params.get('name'))), h('p', null, h('a', { href: './' }, 'All spans')));
    } else if (data.status?.running === false) {
      empty.replaceChildren(h('h2', null, 'No spans, and nothing is being profiled'), h('p', null, sentence(data.status.message)));
    } else {
      empty.replaceChildren(h('h2', null, 'No span has ended yet'),
        h('p', null, 'Spans show up here when they end, their samples when the profiling window around them closes. This page looks for them every two seconds.'),
        h('p', { class: 'muted' }, 'If spans end and this stays empty: is the tracer provider the one that spanprof wraps, and are the spans sampled?'));
    }
    const mostCPU = Math.max(1, ...data.groups.map((g) => g.cpuNs));
    const groups = data.groups.filter((g) => g.name.toLowerCase().includes(wanted)).slice(0, 100);
    aside.hidden = groups.length === 0 && !data.unnamed;
    whole.hidden = data.process.length === 0;
    whole.replaceChildren('Whole process: ', ...data.process.flatMap((p, i) => [i > 0 && ' \u00b7 ', h('a', { href: link('', { query: p.query }) }, i ? p.measure : capital(p.measure))]).filter(Boolean));
    names.replaceChildren(...groups.map((g) => h('li', null,
      h('a', { class: 'name', href: link('', { query: g.query }), title: g.name }, g.name),
      bar(g.cpuNs / mostCPU, 'cpu'),
      h('span', { class: 'muted' }, `${count(g.spans, 'span')} \u00b7 avg ${g.wallNs ? duration(g.wallNs / g.spans) + ' wall, ' : ''}${duration(g.cpuNs / g.spans)} CPU`))),
      ...(data.groupsOmitted ? [h('li', { class: 'muted' }, `and ${count(data.groupsOmitted, 'name')} with less CPU`)] : []),
      ...(data.unnamed ? [h('li', { class: 'muted' }, `${count(data.unnamed, 'unnamed span')} ${data.unnamed === 1 ? 'is' : 'are'} in no group: what has no name cannot be asked for by name.`)] : []));
    numbers.replaceChildren(...counters(data).flatMap(([name, n]) => [h('dt', null, name), h('dd', null, n)]));
  }

  const element = h('div', { class: 'list' },
    h('section', { 'aria-label': 'Spans' },
      h('div', { class: 'tools' }, filter, orders, h('label', { class: 'check' }, live, 'Live'), h('span', { class: 'grow' }), shown),
      whole, table, empty, store),
    aside);
  return {
    element,
    poll: () => state.live,
    address: () => `./?${[...rawQuery('format', 'order', 'limit'), new URLSearchParams({ format: 'json', order: state.order, limit })].join('&')}`,
    update(answer) { data = answer; render(); },
  };
}

function spanRow(s, most, now, manyServices) {
  const ended = new Date(new Date(s.start).getTime() + s.durationNs / 1e6);
  const [mark, meaning] = s.cpuSamples > 0 ? ['full', 'has a profile'] : s.complete ? ['none', MISSING[s.coverage]] : ['open', 'window still open'];
  return h('tr', { class: s.err ? 'err' : null },
    h('td', null, h('div', { class: 'what' },
      h('span', { class: `dot ${mark}`, title: meaning }, h('span', { class: 'sr' }, meaning)),
      h('a', { class: 'name', href: link('', { query: s.query }), 'data-id': s.profileId, title: spanTitle(s) }, spanTitle(s)),
      s.err && h('span', { class: 'tag err', title: s.status }, 'error'),
      s.manual && h('span', { class: 'tag', title: 'work under a profile_id label of its own, without a span' }, 'manual'),
      !s.complete && h('span', { class: 'tag open' }, 'open'),
      manyServices && h('span', { class: 'muted service' }, s.service))),
    h('td', { class: 'when', title: ended.toISOString() }, ago(ended, now), h('span', { class: 'muted clock' }, time(ended))),
    h('td', { class: 'bars' }, bar((wall(s) ?? 0) / most, 'wall'), bar(s.cpuNs / most, 'cpu')),
    h('td', { class: 'num', 'data-label': 'wall' }, wall(s) == null ? '\u2013' : duration(wall(s))),
    h('td', { class: 'num', 'data-label': 'CPU' }, s.cpuSamples ? duration(s.cpuNs) : '\u2013'),
    h('td', { class: 'num', 'data-label': 'samples' }, s.cpuSamples.toLocaleString('en')));
}

// counters are the numbers below the list: how full the store is, what it
// lost, and what the profiler counts.
function counters({ stats, status }) {
  const labelled = stats.cpuNs ? ` (${(stats.cpuLabelledNs / stats.cpuNs * 100).toFixed(1)} %)` : '';
  return [
    ['memory', `${value(stats.bytes, 'bytes')} of ${value(stats.maxBytes, 'bytes')}`],
    ['spans ended', stats.spansEnded.toLocaleString('en')],
    ['spans with samples', stats.spansWithSamples.toLocaleString('en')],
    ['spans evicted', stats.spansEvicted.toLocaleString('en')],
    ['windows held', stats.windows.toLocaleString('en')],
    ['windows received', stats.windowsReceived.toLocaleString('en')],
    ['windows evicted', stats.windowsEvicted.toLocaleString('en')],
    ['profiles not readable', stats.parseErrors.toLocaleString('en')],
    ['CPU time sampled', duration(stats.cpuNs)],
    ['CPU time in spans', duration(stats.cpuLabelledNs) + labelled],
    ...(status?.counters ?? []).map((c) => [c.name, c.value.toLocaleString('en')]),
  ];
}
