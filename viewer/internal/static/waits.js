// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';
import { capital, duration, percent } from './format.js';

// waits says what wall time was spent on, and how far off each figure may be.
export function waits(data) {
  if (!data.waits?.length) return null;
  return h('p', { class: 'muted', title: 'By the functions at the leaf of each stack; \u00b1 is the standard error, by the number of looks at the goroutines' },
    data.errorNs > 0 && `${capital(data.measure)} ${duration(data.total)} \u00b1 ${duration(data.errorNs)}. `, 'Spent: ',
    data.waits.map((w) => `${w.class} ${duration(w.ns)} (${percent(w.ns / data.total)}${w.errorNs > 0 ? ` \u00b1 ${duration(w.errorNs)}` : ''})`).join(', '));
}
