// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link, range, times } from './api.js';
import { h, linkButton } from './dom.js';
import { capital, count, duration, sentence, wall } from './format.js';
import { arrival, flushButton } from './status.js';

// FEW is the number of samples below which a share says little: with 20, the
// error of a half is about 11 points.
const FEW = 20;

// fewHint says that a graph has few samples, and links to one with more.
export function fewHint(data) {
  if (data.samples >= FEW || data.unit !== 'nanoseconds') return null;
  const length = data.span && wall(data.span) != null ? ` in ${duration(data.span.durationNs)}` : '';
  return h('p', { class: 'note few' }, `${count(data.samples, 'sample')}${length}: the widths are rough. `,
    data.baseline && 'Here are ', data.baseline && h('a', { href: link('', { query: data.baseline.query, ...times(data.baseline) }) }, target(data.baseline)), data.baseline && '.');
}

// emptyCard says why there is nothing to draw, and what to do.
export function emptyCard(data, refresh) {
  const open = data.waiting;
  const baseline = data.baseline?.empty ? null : data.baseline;
  // Links to profiles of the same work come first.
  const ways = data.kinds.filter((k) => k.samples > 0 && k.query !== data.query).map((k) => [data.ranged ? capital(k.measure) : `${capital(k.measure)}: ${count(k.samples, 'sample')}`, k.query, data.ranged && range()]);
  if (data.withChildren) ways.unshift(['With its children', data.withChildren.query]);
  if (baseline) ways.push([capital(target(baseline)), baseline.query, times(baseline)]);
  else if (!ways.length && data.windows > 0) ways.push([data.status?.host ? 'The whole machine' : 'The whole process', `.${data.kinds.find((k) => k.query === data.query)?.type ?? 'cpu'}{}`]);
  return h('section', { class: 'card empty' },
    h('h2', null, open && data.span ? 'Not here yet' : 'Nothing to draw'),
    h('p', null, sentence(data.empty)),
    open && h('p', { class: 'muted' }, 'This page looks again every two seconds; ', arrival(), '.'),
    h('div', { class: 'actions' },
      open && data.status?.canFlush && flushButton(refresh),
      ways.map(([text, query, when], i) => linkButton(text, link('', { query, ...when }), { class: i ? 'button' : 'button primary' })),
      linkButton('Recent spans', './')),
    baseline && h('p', { class: 'muted' }, h('code', null, baseline.query)));
}

// target says what a baseline selects, by name if it is known.
function target(b) {
  return b.spans > 1 && b.name && !b.label ? `the ${count(b.spans, 'span')} named ${b.name}` : b.meaning;
}
