// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';
import { sentence } from './format.js';
import { queryForm } from './heading.js';

// failure says what went wrong, and where in the query.
export function failure(err) {
  // An error from the server is not a bug of the page.
  if (!err.served) console.error(err);
  const params = new URLSearchParams(location.search);
  const page = location.pathname.slice(location.pathname.lastIndexOf('/') + 1);
  const name = /^(left|right)Query:/.exec(err.message)?.[0].slice(0, -1) ?? 'query';
  const query = params.get(name) ?? '';
  // The server counts bytes.
  const at = err.column ? new TextDecoder().decode(new TextEncoder().encode(query).slice(0, err.column - 1)).length : -1;
  return h('article', null,
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: './' }, '\u2190 Spans')),
    query && page === '' && queryForm(query),
    h('section', { class: 'card empty', role: 'alert' },
      h('h2', null, err.column ? 'This query cannot be read' : 'That did not work'),
      at >= 0 && h('pre', null, `${query}\n${' '.repeat(at)}^`),
      h('p', null, sentence(err.message.replace(/\bflameql: /, '')))));
}
