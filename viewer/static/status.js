// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { button, h } from './dom.js';

const place = document.getElementById('status');
const alert = document.getElementById('alert');
// closes is when the open window does, by this machine's clock; 0 if there is
// none.
let closes = 0;
let message = '';

setInterval(tick, 1000);
// What went wrong stays until it was seen: capture lets a click on a button say
// something new.
addEventListener('click', () => { alert.hidden = true; }, { capture: true });

// showStatus tells what the profiler does. refresh is called after a flush.
export function showStatus(status, refresh) {
  closes = 0;
  message = status?.message ?? '';
  if (!status) return place.replaceChildren();
  const flush = status.canFlush ? [flushButton(refresh)] : [];
  if (status.running === undefined) return place.replaceChildren(...flush);
  // The window's times are the server's: count from its clock.
  if (status.windowEnd) closes = new Date(status.windowEnd) - new Date(status.now) + Date.now();
  const state = !status.running ? 'off' : message ? 'warn' : 'on';
  place.replaceChildren(h('span', { class: `pill ${state}` }, h('span', { 'data-left': 'window closes' })), ...flush);
  tick();
}

// arrival says when samples that are not here yet will be.
export function arrival() {
  const el = h('span', { 'data-left': 'samples', title: 'its samples arrive when the open window closes' });
  write(el);
  return el;
}

function tick() {
  for (const el of document.querySelectorAll('[data-left]')) write(el);
}

function write(el) {
  const left = closes ? Math.ceil((closes - Date.now()) / 1000) : 0;
  const what = el.dataset.left;
  const text = what === 'window closes' && message ? message
    : left > 0 ? `${what} in ${left} s`
      : what === 'window closes' ? 'profiling' : 'samples to come';
  if (el.textContent !== text) el.textContent = text;
}

// flushButton closes the open window, so that its samples are here at once.
export function flushButton(refresh) {
  const b = button('Flush now', async () => {
    b.disabled = true;
    try {
      const answer = await fetch('./flush', { method: 'POST' });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      await refresh();
    } catch (err) {
      // The next answer replaces the button.
      alert.textContent = `The window could not be closed: ${err.message.replace(/^spanprof: (flush: )?/, '')}`;
      alert.hidden = false;
    }
    b.disabled = false;
  }, { class: 'flush', title: 'Close the open window now' });
  return b;
}
