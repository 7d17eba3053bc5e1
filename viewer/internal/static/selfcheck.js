// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';
import { refill } from './keep.js';

// selfCheck shows what was checked of the provider, the labels, the profiler and the store.
// It is open while something is wrong, until the user closes it.
export function selfCheck() {
  const verdict = h('span');
  const list = h('ul');
  const shares = h('p', { class: 'muted', hidden: true });
  const element = h('details', { class: 'card selfcheck', hidden: true }, h('summary', null, h('h2', null, 'Self-check'), verdict), shares, list);
  let wrong = 0;

  function update(check) {
    element.hidden = !check;
    if (!check) return;
    const { checks, findings } = check;
    const now = findings.filter((f) => f.severity === 'wrong').length;
    const notes = findings.length - now;
    verdict.className = now ? 'bad' : 'muted';
    const text = !findings.length ? `all ${checks} checks pass`
      : [now && `${now} of ${checks} checks ${now === 1 ? 'finds' : 'find'} a mistake`, notes && `${notes} ${notes === 1 ? 'note' : 'notes'}`].filter(Boolean).join(', ');
    if (verdict.textContent !== text) verdict.textContent = text;
    if (now > wrong) element.open = true;
    wrong = now;
    const share = (value, of) => (value === undefined ? '' : `${(100 * value).toFixed(1)} % of ${of}`);
    const figures = [share(check.sampledShare, 'spans are sampled'), share(check.unlabelledShare, 'CPU time is in no span')].filter(Boolean).join(', ');
    if (shares.textContent !== figures) shares.textContent = figures;
    shares.hidden = !figures;
    list.hidden = !findings.length;
    refill(list, findings.map((f) => h('li', { 'data-key': f.id },
      h('p', null, h('span', { class: f.severity === 'wrong' ? 'tag err' : 'tag' }, f.severity), ' ', f.seen),
      h('p', null, h('b', null, 'Do: '), f.do, ' ', h('code', { class: 'muted' }, f.id)))));
  }
  return { element, update };
}
