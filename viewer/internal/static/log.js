// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { h, showNote, tiles } from './dom.js';
import { duration, value } from './format.js';
import { selfCheck } from './status.js';

// logView shows what the profiler and the store have done, and what they lost.
export function logView() {
  document.title = 'Log \u00b7 spanprof';
  const note = h('p', { class: 'note', hidden: true });
  const head = h('div');
  const numbers = h('dl', { class: 'numbers' });
  const remark = h('p', { class: 'note', hidden: true });
  const checked = selfCheck();
  const moving = h('section', { class: 'card' }, h('h2', null, 'Counters'), numbers);
  const element = h('article', null,
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: link('') }, '\u2190 Spans'), h('a', { href: './log?format=text' }, 'text'), h('a', { href: './log?format=json' }, 'json')),
    h('h1', null, 'Log'), note, remark, checked.element, head,
    moving);

  function update({ status, stats, ...more }) {
    checked.update(status?.selfCheck);
    showNote(remark, more.note);
    for (const part of [head, moving]) part.hidden = Boolean(more.fixed); // Nothing happens, and there are no numbers.
    showNote(note, status?.message);
    head.replaceChildren(tiles([
      ['Memory', `${value(stats.bytes, 'bytes')} of ${value(stats.maxBytes, 'bytes')}`],
      ['Spans held', stats.spans.toLocaleString('en')],
      ['Windows held', stats.windows.toLocaleString('en')],
      stats.cpuNs > 0 && ['CPU time in spans', `${(100 * stats.cpuLabelledNs / stats.cpuNs).toFixed(1)} %`]]));
    numbers.replaceChildren(...counters(stats, status).map(([name, n]) => h('div', null, h('dt', null, name), h('dd', null, n))));
  }
  return { element, list: element, update, address: () => './log?format=json' };
}

// counters shows what was received and what was lost.
function counters(stats, status) {
  return [
    ['spans ended', stats.spansEnded], ['spans running', stats.spansRunning],
    ['spans not kept', stats.spansNotKept], ['spans evicted', stats.spansEvicted], ['spans not recorded', stats.spansDropped], ['children left out', stats.childrenDropped],
    ['ids evicted before their span ended', stats.idsEvicted], ['samples of spans that the store never received', stats.samplesUnseen],
    ['windows received', stats.windowsReceived], ['windows evicted', stats.windowsEvicted], ['windows refused as too big', stats.windowsRefused], ['profiles not readable', stats.parseErrors],
    ['CPU time sampled', duration(stats.cpuNs)], ['CPU time in spans', duration(stats.cpuLabelledNs)],
    ...(status?.counters ?? []).map((c) => [c.name, value(c.value, c.unit)]),
  ].map(([name, n]) => [name, n.toLocaleString('en')]);
}
