// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { comparison, get, link, range } from './api.js';
import { button, follow, followSize, h, linkButton, placeTip, refill, swatch } from './dom.js';
import { capital, clock, duration, stripColour, theme, value } from './format.js';

const HEIGHT = 64;
// AXIS is the room for times below the bars.
const AXIS = 16;

// strip shows what a query selects over time, by span name. Dragging selects a time range,
// to show or to compare with another one. It is hidden until load has brought data.
export function strip(query) {
  const canvas = h('canvas', { tabindex: 0, role: 'application', 'aria-label': 'Time line. Drag, or hold Shift and use the arrow keys, to select a time; Escape drops it.' });
  const legend = h('div', { class: 'chips' });
  const chosen = h('div', { class: 'chosen', role: 'status', hidden: true });
  const tip = h('div', { class: 'tip', hidden: true });
  const versions = h('div', { class: 'versions', hidden: true });
  const note = h('span', { class: 'muted', hidden: true });
  const title = h('h2');
  const element = h('section', { class: 'card strip', 'aria-label': 'Time line', hidden: true }, h('div', { class: 'striphead' }, title, note, legend), canvas, tip, chosen, versions);
  let data = null;
  let selection = null; // [first bucket, last bucket]
  let anchor = null;
  let held = null; // the range to compare with
  let turn = 0;
  const limit = pageRange();

  const total = (b) => b.rest + b.values.reduce((a, v) => a + v, 0);
  const start = (b) => new Date(b.start).getTime();
  const end = (b) => start(b) + b.durationNs / 1e6;
  const first = () => start(data.buckets[0]);
  const last = () => Math.max(...data.buckets.map(end));
  const px = (t) => (t - first()) / Math.max(1, last() - first()) * canvas.clientWidth;

  function paint() {
    const width = canvas.clientWidth;
    if (!data?.buckets.length || !width) return;
    const { dark, accent, line, muted } = theme();
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((HEIGHT + AXIS) * ratio);
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    // A short window has too few samples for a rate. A moment, as heap in use, does not depend on it.
    const lengths = data.buckets.map((b) => b.durationNs).sort((a, b) => a - b);
    const rate = (v, b) => (data.momentary ? v : v / Math.max(1, b.durationNs, lengths[lengths.length >> 1] / 2));
    const most = Math.max(Number.MIN_VALUE, ...data.buckets.map((b) => rate(total(b), b)));
    data.buckets.forEach((b, i) => {
      const x = px(start(b));
      const w = Math.max(1, px(end(b)) - x - (data.buckets.length < 200 ? 1 : 0));
      const inside = selection ? i >= selection[0] && i <= selection[1] : end(b) > limit[0] && start(b) < limit[1];
      c.globalAlpha = inside ? 1 : 0.35;
      let y = HEIGHT - 1;
      for (const [name, v] of [...b.values.entries(), [-1, b.rest]]) {
        const height = rate(v, b) / most * (HEIGHT - 6);
        c.fillStyle = stripColour(name, dark);
        c.fillRect(x, y - height, w, height);
        y -= height;
      }
    });
    c.globalAlpha = 1;
    c.fillStyle = line;
    c.fillRect(0, HEIGHT - 1, width, 1);
    c.fillStyle = muted;
    c.font = '11px system-ui, sans-serif';
    for (const { at, text } of ticks(first(), last(), width)) {
      const x = Math.round(px(at));
      c.fillRect(x, HEIGHT - 1, 1, 4);
      c.textAlign = x < 24 ? 'left' : x > width - 24 ? 'right' : 'center';
      c.fillText(text, x, HEIGHT + 13);
    }
    if (selection) {
      const x = px(start(data.buckets[selection[0]]));
      c.strokeStyle = accent;
      c.lineWidth = 1.5;
      c.strokeRect(x - 0.5, 0.75, px(end(data.buckets[selection[1]])) - x, HEIGHT - 1.5);
    }
  }

  // times returns a range's from and until. Windows touch each other, and one that shares
  // only an instant with a range would be in it: keep clear of the edges.
  const times = ([a, b]) => ({ from: Math.ceil(start(data.buckets[a])) + 1, until: Math.floor(end(data.buckets[b])) - 2 });

  function choose() {
    chosen.hidden = !selection;
    if (!selection) return;
    const [a, b] = selection;
    const lasts = duration((end(data.buckets[b]) - start(data.buckets[a])) * 1e6);
    const sum = data.buckets.slice(a, b + 1).reduce((s, x) => s + total(x), 0);
    const much = data.momentary ? `${value(total(data.buckets[b]), data.unit)} of ${data.measure} at the end of ${lasts}` : `${value(sum, data.unit)} of ${data.measure} in ${lasts}`;
    const when = times(selection);
    chosen.replaceChildren(...[
      h('b', null, `${clock(data.buckets[a].start)} \u2013 ${clock(end(data.buckets[b]))}`), h('span', { class: 'muted' }, much),
      held ? linkButton('Compare the first range with this one', comparison(data.query, held, data.query, when), { class: 'button primary' })
        : linkButton('Flame graph of this time', link('', { query: data.query, ...when }), { class: 'button primary' }),
      !held && linkButton('Spans of this time', link('', when)),
      !held && a > 0 && linkButton('Compare with all before', comparison(data.query, times([0, a - 1]), data.query, when)),
      !held && button('Compare with another range \u2026', () => {
        held = when;
        selection = null;
        paint();
        chosen.replaceChildren(h('span', null, 'Now select the range to compare with the first one.'), button('Drop', drop));
      }, { class: 'another' }),
      button('Drop', drop)].filter(Boolean));
  }

  function drop() {
    selection = held = anchor = null;
    choose();
    paint();
  }

  const at = (e) => {
    const box = canvas.getBoundingClientRect();
    const t = first() + (e.clientX - box.left) / Math.max(1, box.width) * (last() - first());
    let best = 0;
    data.buckets.forEach((b, i) => { if (start(b) <= t) best = i; });
    return best;
  };
  const span = (i) => { selection = [Math.min(anchor, i), Math.max(anchor, i)]; paint(); };

  canvas.addEventListener('pointerdown', (e) => {
    if (!data?.buckets.length) return;
    canvas.setPointerCapture(e.pointerId);
    anchor = at(e);
    span(anchor);
  });
  canvas.addEventListener('pointermove', (e) => {
    if (!data?.buckets.length) return;
    const i = at(e);
    if (anchor != null) span(i);
    const b = data.buckets[i];
    tip.hidden = e.pointerType === 'touch';
    const rows = [...data.names.map((n, k) => [n, b.values[k]]), ['other work', b.rest]].filter(([, v]) => v > 0);
    tip.replaceChildren(h('b', null, `${clock(b.start)}  ${value(total(b), data.unit)}`), ...rows.map(([n, v]) => h('div', null, `${value(v, data.unit)}  ${n}`)));
    placeTip(tip, e.clientX, e.clientY);
  });
  const done = () => { if (anchor != null) { anchor = null; choose(); } };
  canvas.addEventListener('pointerup', done);
  canvas.addEventListener('pointercancel', drop);
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('keydown', (e) => {
    if (!data?.buckets.length) return;
    if (e.key === 'Escape') return drop();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const n = data.buckets.length - 1;
    const [a, b] = selection ?? [n, n];
    const clamp = (i) => Math.max(0, Math.min(n, i));
    selection = e.shiftKey ? [a, clamp(Math.max(a, b + step))] : [clamp(a + step), clamp(a + step)];
    choose();
    paint();
  });
  follow(element, 'theme', () => paint());
  followSize(canvas, () => paint());

  function key() {
    const rest = data.buckets.some((b) => b.rest > 0);
    legend.replaceChildren(...[...data.names.entries(), ...(rest ? [[-1, data.names.length ? 'other work' : 'all work']] : [])].map(([i, name]) =>
      h('span', { class: 'chip', title: name }, swatch((dark) => stripColour(i, dark)), h('span', { class: 'cut' }, name))));
  }

  function showVersions() {
    versions.hidden = !data.versions;
    if (versions.hidden) return;
    const { title, left, right } = data.versions;
    // A link that has the focus stays.
    refill(versions, [h('span', { 'data-key': 'compare' }, 'Compare:'), linkButton(title, comparison(left, {}, right, {}), { 'data-key': 'versions' })]);
  }

  // load fetches the time line of the page's work. It fails if the server does not answer, and while
  // the user has a selection, which stays. A refused time line is hidden.
  async function load(ranged, work = query, aside = '') {
    query = work;
    const mine = ++turn;
    let answer;
    try {
      // The whole time line, with the range of the page marked. A ranged source has only its range.
      answer = await get(link('timeline', { query, ...(ranged && range()), format: 'json' }));
    } catch (err) {
      if (mine !== turn) return;
      if (!err.refused) throw err;
      element.hidden = true;
      return;
    }
    if (mine !== turn) return;
    if (selection || held) throw new Error('selected');
    data = answer;
    note.hidden = !aside;
    note.textContent = `(${aside})`;
    const shown = data.buckets.length > 1;
    element.hidden = !shown && !data.versions;
    canvas.hidden = !shown;
    if (element.hidden) return;
    title.textContent = `${capital(data.measure)} over time`;
    key();
    showVersions();
    paint();
  }
  return { element, load };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * SECOND, n * MINUTE]).concat([1, 2, 3, 6, 12, 24, 48, 168].map((n) => n * HOUR)).sort((a, b) => a - b);

// ticks returns round times of the clock, as many as have room. An hour off after the clock changed.
export function ticks(from, until, width) {
  const most = Math.max(2, width / 90);
  const step = STEPS.find((s) => (until - from) / s <= most) ?? STEPS.at(-1) * Math.ceil((until - from) / STEPS.at(-1) / most);
  const zone = new Date(from).getTimezoneOffset() * MINUTE;
  const list = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= until; at += step) {
    const date = new Date(at);
    const midnight = date.getHours() + date.getMinutes() + date.getSeconds() === 0;
    list.push({ at, text: step >= 24 * HOUR || midnight && until - from > HOUR ? date.toLocaleDateString('sv').slice(5) : date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...(step < MINUTE && { second: '2-digit' }) }) });
  }
  return list;
}

// pageRange returns the range of the page's address in milliseconds, as links of a strip have it.
function pageRange() {
  const { from, until } = range();
  const ms = (text, open) => (/^\d{12,14}$/.test(text ?? '') ? Number(text) : open);
  return [ms(from, -Infinity), ms(until, Infinity)];
}
