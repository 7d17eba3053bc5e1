// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';

// earlierTag marks what an earlier process has left in a directory.
export function earlierTag(p) {
  if (!p.started) {
    return h('span', { class: 'tag earlier', title: 'of one of the earlier processes that are too many to tell apart' }, 'earlier process');
  }
  const of = [`started ${new Date(p.started).toISOString()}`, p.pid && `pid ${p.pid}`, p.version && `version ${p.version}`].filter(Boolean).join(', ');
  return h('span', { class: 'tag earlier', title: `of an earlier process: ${of}` }, 'earlier process');
}
