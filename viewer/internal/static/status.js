// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { button, h } from './dom.js';
import { clock } from './format.js';

const alert = document.getElementById('alert');
// closes is when the open window ends, by this machine's clock; 0 if there is none.
let closes = 0;
let message = '';
// since is when the server last answered; 0 before it has, and gone says that it does not any
// more.
let since = 0;
let gone = '';
let load = () => {};
const pill = h('span', { hidden: true }, h('span', { 'data-left': 'window closes' }));
const flush = flushButton(() => load());
flush.hidden = true;
document.getElementById('status').append(pill, flush);

setInterval(tick, 1000);
// An error stays until the next click. capture runs before the button's own listener, which
// may show a new one.
addEventListener('click', () => { alert.hidden = true; }, { capture: true });

// showStatus shows what the profiler does. refresh is called after a flush.
export function showStatus(status, refresh) {
  since = Date.now();
  if (gone && alert.textContent === gone) alert.hidden = true;
  gone = '';
  closes = 0;
  message = status?.message ?? '';
  load = refresh;
  flush.hidden = !status?.canFlush;
  pill.hidden = status?.running === undefined;
  if (pill.hidden) return;
  // The window's times are the server's: count from its clock.
  if (status.windowEnd) closes = new Date(status.windowEnd) - new Date(status.now) + Date.now();
  pill.className = `pill ${!status.running ? 'off' : message ? 'warn' : 'on'}`;
  tick();
}

// showGone says that the server does not answer, and since when.
export function showGone(err) {
  const first = !gone;
  gone = `The server has not answered since ${clock(since)} (${err.message.replace(/[.\s]+$/, '')}): what is shown is from then. This page asks again every two seconds.`;
  if (first || alert.textContent.startsWith('The server has not answered')) alert.textContent = gone;
  if (first) alert.hidden = false;
  pill.className = 'pill gone';
  pill.hidden = false;
  flush.hidden = true;
  tick();
}

// arrival says when the next samples are to be expected.
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
  const text = gone ? (what === 'window closes' ? `no answer since ${clock(since)}` : 'the server does not answer')
    : what === 'window closes' && message ? message
    : left > 0 ? `${what} in ${left} s`
      : what === 'window closes' ? 'profiling' : 'samples to come';
  if (el.textContent !== text) el.textContent = text;
}

// flushButton closes the open window, so that its samples are here at once.
export function flushButton(refresh) {
  let busy = false;
  const b = button('Flush now', async () => {
    if (busy) return;
    busy = true;
    // A button that is disabled loses the focus.
    b.ariaDisabled = 'true';
    try {
      const answer = await fetch('./flush', { method: 'POST' });
      if (!answer.ok) throw new Error((await answer.text()).trim());
    } catch (err) {
      alert.textContent = `Flushed, but not everywhere: ${err.message.replace(/^spanprof: (flush: )?/, '')}`;
      alert.hidden = false;
    }
    await refresh(); // the samples may be here although another destination lost them
    busy = false;
    b.ariaDisabled = null;
  }, { class: 'flush', title: 'Close the open window now' });
  return b;
}
