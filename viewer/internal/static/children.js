// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, link } from './api.js';
import { button } from './dom.js';
import { count } from './format.js';

const LIMIT = 200;

// unfolding shows the spans below those of a list, where these are asked for: of each
// span that is unfolded, it keeps what the server says of those below it.
export function unfolding(changed) {
  const open = new Map(); // by id: {spans, of}
  const load = async (s) => {
    const answer = await get(link('', { below: s.profileId, limit: LIMIT, format: 'json' }));
    const spans = answer.spans.sort((a, b) => new Date(a.start) - new Date(b.start));
    if (open.has(s.profileId)) open.set(s.profileId, { spans, of: s.below });
    changed();
  };
  return {
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
      const depths = new Map([[s.profileId, 0]]);
      return kept.spans.map((child) => {
        const depth = Math.min(12, (depths.get(child.parentId) ?? 0) + 1);
        depths.set(child.profileId, depth);
        return { ...child, depth };
      });
    },
  };
}
