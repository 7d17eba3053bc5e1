// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, link } from './api.js';
import { button, h } from './dom.js';
import { count } from './format.js';
import { nested } from './trace.js';

const LIMIT = 200;

// unfolding shows the spans below those of a list, where these are asked for: of each
// span that is unfolded, it keeps what the server says of those below it.
export function unfolding(changed) {
  const open = new Map(); // by id: {spans, of}
  const load = async (s) => {
    const answer = await get(link('', { below: s.profileId, limit: LIMIT, format: 'json' }));
    if (open.has(s.profileId)) open.set(s.profileId, { spans: nested(answer.spans).map(([child, depth]) => ({ ...child, depth: depth + 1 })), of: s.below });
    changed();
  };
  return {
    open: (s) => open.has(s.profileId),
    // toggle is the button of a row; null where nothing is below its span.
    toggle(s) {
      if (!s.below) return null;
      const shown = open.has(s.profileId);
      return button(shown ? '\u25be' : '\u25b8', () => {
        if (open.delete(s.profileId)) {
          changed();
          return;
        }
        open.set(s.profileId, { spans: [], of: 0 });
        load(s).catch(() => { open.delete(s.profileId); changed(); });
      }, { class: 'tiny fold', 'aria-expanded': String(shown), 'aria-label': `${count(s.below, 'span')} below`, title: `${count(s.below, 'span')} below it` });
    },
    // below returns the spans to show below s, each with its depth.
    below(s) {
      const kept = open.get(s.profileId);
      if (!kept) return [];
      if (kept.of && s.below !== kept.of) {
        kept.of = s.below;
        load(s).catch(() => {});
      }
      return kept.spans;
    },
    // rest returns how many more spans are below s than below returns.
    rest(s) {
      const shown = open.get(s.profileId)?.spans.length ?? 0;
      return shown < LIMIT ? 0 : Math.max(0, s.below - shown);
    },
  };
}

// restRow leads to the list of all spans below s, of which n are not shown.
export const restRow = (s, n) => h('tr', { class: 'below' }, h('td', { colspan: 6 }, h('div', { class: 'what' }, h('a', { href: link('', { below: s.profileId }) }, `and ${count(n, 'more span')} below it`))));
