// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';

const place = document.getElementById('status');
let ticking;

// showStatus tells what the profiler does. refresh is called after a flush.
export function showStatus(status, refresh) {
  clearInterval(ticking);
  if (!status) return place.replaceChildren();
  const button = status.canFlush ? [flushButton(refresh)] : [];
  if (status.running === undefined) return place.replaceChildren(...button);
  const text = h('span');
  // The window's times are the server's: count from its clock.
  const skew = new Date(status.now) - Date.now();
  const tick = () => {
    const left = status.windowEnd ? Math.ceil((new Date(status.windowEnd) - skew - Date.now()) / 1000) : 0;
    text.textContent = status.message || (left > 0 ? `window closes in ${left} s` : 'profiling');
  };
  tick();
  if (status.windowEnd && !status.message) ticking = setInterval(tick, 1000);
  const state = !status.running ? 'off' : status.message ? 'warn' : 'on';
  place.replaceChildren(h('span', { class: `pill ${state}` }, text), ...button);
}

// flushButton closes the open window, so that its samples are here at once.
export function flushButton(refresh) {
  const button = h('button', { type: 'button', title: 'Close the open window now', onclick: async () => {
    button.disabled = true;
    try {
      const answer = await fetch('./flush', { method: 'POST' });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      await refresh();
    } catch (err) {
      button.title = err.message;
      button.classList.add('failed');
    }
    button.disabled = false;
  } }, 'Flush now');
  return button;
}
