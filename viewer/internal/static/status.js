// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { isFrozen } from './api.js';
import { button, h, refill } from './dom.js';
import { clock } from './format.js';

const alert = document.getElementById('alert');
// closes is when the open window ends, by this machine's clock; 0 if there is none.
let closes = 0;
let message = '';
// since is the time of the last answer or 0, gone the message while the server does not answer.
let since = 0;
let gone = '';
let load = () => {};
// The header has its parts before the first answer, so that they do not move.
const pill = h('span', { class: 'pill' }, h('span', { 'data-left': 'window closes' }, '\u2026'));
const flush = flushButton(() => load());
document.getElementById('status').append(pill, flush);

pill.hidden = flush.hidden = isFrozen;
setInterval(tick, 1000);
// An error stays until the next click. The button's own listener, which runs later, may show a new one.
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

// showGone shows that the server does not answer, and since when.
export function showGone(err) {
  const first = !gone;
  gone = `The server has not answered since ${clock(since)} (${err.message.replace(/[.\s]+$/, '')}): the page is from then. This page polls every two seconds.`;
  if (first || alert.textContent.startsWith('The server has not answered')) alert.textContent = gone;
  if (first) alert.hidden = false;
  pill.className = 'pill gone';
  pill.hidden = false;
  flush.hidden = true;
  tick();
}

// arrival is when the next samples can be expected.
export function arrival() {
  const el = h('span', { 'data-left': 'samples', title: 'its samples arrive when the open window closes' });
  write(el);
  return el;
}

// earlierTag marks what an earlier process has left in a directory.
export const earlierTag = () => h('span', { class: 'tag', title: 'of an earlier process, from its files' }, 'earlier process');

function tick() {
  for (const el of document.querySelectorAll('[data-left]')) write(el);
}

function write(el) {
  const left = closes ? Math.ceil((closes - Date.now()) / 1000) : 0;
  const what = el.dataset.left;
  const text = !since && what === 'window closes' ? '\u2026' : gone ? (what === 'window closes' ? `no answer since ${clock(since)}` : 'the server does not answer')
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

// selfCheck lists the findings. It opens when a check fails, and the user may close it.
export function selfCheck() {
  const verdict = h('span');
  const list = h('ul');
  const element = h('details', { class: 'card selfcheck', hidden: true }, h('summary', null, h('h2', null, 'Self-check'), verdict), list);
  let wrong = 0;

  function update(check) {
    element.hidden = !check;
    if (!check) return;
    const { checks, findings } = check;
    const now = findings.filter((f) => f.severity === 'wrong').length;
    const notes = findings.length - now;
    verdict.className = now ? 'bad' : 'muted';
    const text = !findings.length ? `all ${checks} checks pass`
      : [now && `${now} of ${checks} checks ${now === 1 ? 'finds' : 'find'} a mistake`, notes && `${notes} ${notes === 1 ? 'note' : 'notes'}`].filter(Boolean).join(', ');
    if (verdict.textContent !== text) verdict.textContent = text;
    if (now > wrong) element.open = true;
    wrong = now;
    list.hidden = !findings.length;
    refill(list, findings.map((f) => h('li', { 'data-key': f.id },
      h('p', null, h('span', { class: f.severity === 'wrong' ? 'tag err' : 'tag' }, f.severity), ' ', f.seen),
      h('p', null, h('b', null, 'Do: '), f.do, ' ', h('code', { class: 'muted' }, f.id)))));
  }
  return { element, update, wrong: () => wrong > 0 };
}
