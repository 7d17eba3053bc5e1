// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';

export const hasExact = (data) => Boolean(data.span?.exactTimes ?? data.exactByName);

// exactPanel loads what shows the exact times of a span, or of spans of a name, when they are looked at.
export function exactPanel(data) {
  if (!document.querySelector('link[href$="exact.css"]')) document.head.append(h('link', { rel: 'stylesheet', href: './exact.css' }));
  const panel = h('section', { class: 'card' }, h('p', { class: 'muted', role: 'status' }, 'Loading \u2026'));
  import('./exact.js').then(({ exactView }) => panel.replaceChildren(exactView(data)),
    (err) => panel.replaceChildren(h('p', { class: 'note' }, `The page could not load this part: ${err.message}. Load it again.`)));
  return panel;
}
