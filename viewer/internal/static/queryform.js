// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { range } from './api.js';
import { h } from './dom.js';

// queryForm is the input for a query.
export function queryForm(query) {
  const input = h('input', { name: 'query', 'aria-label': 'FlameQL query', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' });
  input.value = query;
  const kept = Object.entries(range()).map(([name, value]) => h('input', { type: 'hidden', name, value }));
  return h('form', { class: 'query', action: './', method: 'get', role: 'search' }, input, ...kept, h('button', null, 'Show'));
}
