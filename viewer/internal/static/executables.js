// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { copyButton } from './copy.js';
import { bar, h } from './dom.js';
import { percent, value } from './format.js';

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
