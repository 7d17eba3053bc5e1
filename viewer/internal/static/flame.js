// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { pageParams, remember, rememberTyped } from './api.js';
import { button, copyButton, follow, followSize, h, placeTip } from './dom.js';
import { bareName, count, deltaColour, mark, packageColour, percent, shortName, signedPoints, theme, typeColour, typeOfMark, value } from './format.js';
import { pathID, sibling, topmost, within } from './graph.js';

// Flame is a flame graph on a canvas. The canvas is at most as high as the window and moves with it:
// a deep graph costs no more than a shallow one.
export class Flame {
  // options: graph is a Graph, unit the unit of its values, label its name for screen readers.
  // whole is the total for shares if it is not the graph's own. deltas is a Map from names to
  // the change of a function's share, which then sets the colour. flipped puts the root at the
  // bottom, simple omits the tools. onfunction is called with the name of a function to show with
  // its callers and callees. remembered are the parameters of the address for the search and the
  // zoom.
  constructor(options) {
    const { graph, unit, label, whole, deltas, flipped, simple, onfunction, remembered } = options;
    Object.assign(this, { unit, whole, deltas, onfunction, remembered, flipped: Boolean(flipped), text: '' });
    this.canvas = h('canvas', { tabindex: 0, role: 'application', 'aria-label': `${label}. Arrow keys move between frames, Enter zooms in, Escape zooms out${onfunction ? ', c shows callers and callees' : ''}.` });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.live = h('div', { class: 'sr', 'aria-live': 'polite' });
    this.body = h('div', { class: 'flame' }, this.canvas);
    this.found = h('output', { class: 'found' });
    this.search = h('input', { type: 'search', placeholder: 'Search functions  ( / )', 'aria-label': `Search functions in ${label}`, spellcheck: 'false', autocomplete: 'off', 'data-search': '' });
    this.cut = h('p', { class: 'muted cut-frames', role: 'status', hidden: true });
    this.reset = button('Reset zoom', () => this.zoom(this.frames[0]), { disabled: true });
    this.flip = button('Root at bottom', () => {
      this.flipped = !this.flipped;
      this.flip.setAttribute('aria-pressed', String(this.flipped));
      this.draw();
    }, { 'aria-pressed': String(this.flipped) });
    this.detail = h('div', { class: 'detail', hidden: true });
    this.element = h('section', { class: 'graph', 'aria-label': label },
      !simple && h('div', { class: 'tools' }, this.search, this.found, h('span', { class: 'grow' }), this.flip, this.reset),
      this.detail, this.body, this.cut, this.tip, this.live);
    this.listen();
    const [search, zoom] = (remembered ?? []).map((key) => pageParams().get(key) ?? '');
    this.search.value = this.text = search ?? '';
    this.update(graph, zoom ?? '');
  }

  // update shows a graph, of later samples of the same. Addresses of earlier versions have longer
  // zooms, with the same beginning. A graph without the zoomed frame is shown whole.
  update(graph, zoom = pathID(this.zoomed)) {
    this.graph = graph;
    this.frames = graph.frames;
    this.depth = 1 + this.frames.reduce((d, f) => Math.max(d, f.depth), 0);
    this.rows = Array.from({ length: this.depth }, () => []);
    for (const f of this.frames) this.rows[f.depth].push(f);
    if (this.deltas) this.maxDelta = this.frames.reduce((m, f) => Math.max(m, Math.abs(this.delta(f))), 0.02);
    this.zoomed = zoom && this.frames.find((f) => pathID(f) === zoom.slice(0, 8)) || this.frames[0];
    this.hover = this.focus = null;
    this.view = [this.zoomed.x, this.zoomed.x + this.zoomed.total];
    this.look(this.text);
    this.cut.hidden = !graph.omitted;
    this.cut.textContent = graph.omitted ? `${count(graph.omitted, 'narrow frame')} left out: only their callers have their time.` : '';
  }

  shown() {
    const [search, zoom] = this.remembered;
    return { [search]: this.search.value.trim(), [zoom]: pathID(this.zoomed) };
  }

  remember() {
    if (this.remembered) remember(this.shown());
  }

  listen() {
    this.search.addEventListener('input', () => this.look(this.search.value));
    if (this.remembered) rememberTyped(this.search, () => this.shown());
    this.search.addEventListener('keydown', (e) => {
      if (e.key !== 'Escape') return;
      this.find('');
      this.canvas.focus({ preventScroll: true });
    });
    this.canvas.addEventListener('pointermove', (e) => {
      const frame = this.at(e);
      if (frame !== this.hover) {
        this.hover = frame;
        this.canvas.classList.toggle('over', frame != null);
        this.draw();
      }
      if (e.pointerType !== 'touch') this.showTip(frame, e.clientX, e.clientY);
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      this.tip.hidden = true;
      this.draw();
    });
    this.canvas.addEventListener('click', (e) => {
      const frame = this.at(e);
      if (frame) this.zoom(frame === this.zoomed && frame.parent ? frame.parent : frame);
    });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.canvas.addEventListener('blur', () => {
      this.focus = null;
      this.tip.hidden = true;
      this.draw();
    });
    followSize(this.body, () => this.draw());
    for (const kind of ['scroll', 'theme']) follow(this.element, kind, () => this.draw());
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = this.focus ?? this.zoomed;
    let next;
    switch (e.key) {
      case 'ArrowDown': next = this.flipped ? at.parent : at.children[0]; break;
      case 'ArrowUp': next = this.flipped ? at.children[0] : at.parent; break;
      case 'ArrowLeft': next = sibling(at, -1); break;
      case 'ArrowRight': next = sibling(at, 1); break;
      case 'Enter': case ' ': this.zoom(at); next = this.zoomed; break;
      case 'Escape': if (this.zoomed.parent) { this.zoom(this.zoomed.parent); next = this.zoomed; } break;
      case 'Home': next = this.frames[0]; break;
      case 'n': next = this.nextMatch(at); break;
      case 'c': if (this.onfunction && at.parent) this.onfunction(at.name); break;
      default: return;
    }
    e.preventDefault();
    if (!next) return;
    this.focus = next;
    // A frame outside the zoomed one cannot be seen: zoom out to it.
    if (next.x < this.zoomed.x || next.x + next.total > this.zoomed.x + this.zoomed.total) this.zoom(next.parent ?? next);
    this.draw();
    this.live.textContent = this.describe(next).join(', ');
    const top = () => this.body.getBoundingClientRect().top + this.row(next) * ROW;
    if (top() < 0 || top() > innerHeight - 2 * ROW) scrollBy(0, top() - innerHeight / 2);
    this.showTip(next, this.body.getBoundingClientRect().left + Math.max(0, this.px(next.x)) + 8, top() + ROW / 2);
  }

  nextMatch(at) {
    if (!this.matches?.size) return null;
    const all = this.frames.filter((f) => this.hit(f) && within(f, this.zoomed));
    const from = this.frames.indexOf(at);
    return all.find((f) => this.frames.indexOf(f) > from) ?? all[0];
  }

  // zoom makes frame as wide as the graph.
  zoom(frame) {
    const from = [...this.view];
    this.zoomed = frame;
    this.remember();
    this.report();
    const to = [frame.x, frame.x + frame.total];
    const took = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1 : 160;
    const began = performance.now();
    const step = (now) => {
      if (this.zoomed !== frame) return;
      const t = Math.min(1, Math.max(0, (now - began) / took));
      const ease = 1 - (1 - t) ** 3;
      this.view = [0, 1].map((i) => from[i] + (to[i] - from[i]) * ease);
      this.draw();
      if (t < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // showDetail describes the zoomed frame, also for devices without hover.
  showDetail(frame) {
    this.detail.hidden = !frame.parent;
    if (!frame.parent) return;
    const [name, ...lines] = this.describe(frame);
    this.detail.replaceChildren(
      h('div', { class: 'about' }, h('b', { class: 'code' }, name), h('span', { class: 'muted' }, lines.join(' \u00b7 '))),
      this.onfunction && button('Callers and callees', () => this.onfunction(frame.name)),
      copyButton('Copy name', () => frame.name));
  }

  // look marks functions by a part of their names or by their type; find also remembers the text.
  look(text) {
    this.text = text.trim();
    this.matches = this.graph.find(this.text, typeOfMark(this.text.toLowerCase()));
    this.report();
    this.draw();
  }

  // report shows the zoomed frame and the search.
  report() {
    this.showDetail(this.zoomed);
    this.reset.disabled = !this.zoomed.parent;
    const { frames, matches, zoomed } = this;
    const sum = matches && topmost(frames, matches);
    const parts = !matches ? [] : sum ? [`${percent(sum / (frames[0].total || 1))} of the total (${value(sum, this.unit)})`] : ['no match'];
    if (sum && zoomed.parent) parts.push(`${percent(topmost(frames.filter((f) => within(f, zoomed)), matches) / (zoomed.total || 1))} of the zoomed frame`);
    this.found.textContent = parts.join('; ');
  }

  hit(f) { return Boolean(f.parent && this.matches?.has(f.fn)); }

  // dim reports whether other frames are what is searched for, or zoomed to.
  dim(f) { return !this.hit(f) && (this.matches || f.depth < this.zoomed.depth); }
  row(frame) { return this.flipped ? this.depth - 1 - frame.depth : frame.depth; }
  px(x) { return (x - this.view[0]) / (this.view[1] - this.view[0]) * this.width; }

  find(text) {
    this.search.value = text;
    this.look(text);
    this.remember();
  }

  // at returns the frame under the pointer.
  at(e) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((e.clientY - box.top + this.offset) / ROW);
    const x = e.clientX - box.left;
    return this.rows[this.flipped ? this.depth - 1 - row : row]?.find((f) => this.px(f.x) <= x && x < this.px(f.x + f.total)) ?? null;
  }

  // delta is the change of a frame's share, left to right.
  delta(f) {
    const root = this.frames[0];
    return f.total / (root.total || 1) - f.left / (root.left || 1);
  }

  describe(f) {
    const share = (v) => percent(v / ((this.whole ?? this.frames[0].total) || 1));
    const lines = [`${value(f.total, this.unit)}, ${share(f.total)} of the total`];
    if (this.zoomed.parent && f !== this.zoomed && within(f, this.zoomed)) lines.push(`${percent(f.total / this.zoomed.total)} of the zoomed frame`);
    if (f.self !== f.total) lines.push(`self ${value(f.self, this.unit)}, ${share(f.self)}`);
    if (this.deltas && f.parent) {
      const root = this.frames[0];
      lines.push(`this frame: ${percent(f.left / (root.left || 1))} \u2192 ${percent(f.total / root.total)} (${signedPoints(this.delta(f))})`);
      const d = this.deltas.get(f.name);
      if (d) lines.push(`the function everywhere: ${percent(d.left)} \u2192 ${percent(d.right)} (${signedPoints(d.delta)})`);
    }
    const file = f.fn >= 0 && this.graph.text('file', f.fn);
    if (file) lines.push(`${file}:${this.graph.data.functions.line[f.fn]}`);
    if (f.inlined) lines.push('inlined');
    if (f.type === 'kernel' || f.type === 'native') lines.push(`${f.type} code`);
    return [f.name, ...lines];
  }

  showTip(frame, x, y) {
    this.tip.hidden = !frame;
    if (!frame) return;
    const [name, ...lines] = this.describe(frame);
    this.tip.replaceChildren(h('b', null, name), ...lines.map((l) => h('div', null, l)));
    placeTip(this.tip, x, y);
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      paint(this, theme());
    });
  }

  colour(f, { dark, plain, match }) {
    if (this.hit(f)) return match;
    if (!f.parent) return plain;
    if (this.deltas) return deltaColour(this.delta(f) / this.maxDelta, dark);
    if (f.type) return typeColour(f.type, dark);
    const known = (this.graph.colours ??= [[], []])[Number(dark)]; // by function
    return known[f.fn] ??= f.fn >= 0 && this.graph.packageOf(f.fn) ? packageColour(this.graph.packageOf(f.fn), dark) : plain;
  }
}

const ROW = 20;
const FONT = '12px system-ui, sans-serif';
const THIN = 0.4; // Pixels.
const DIM = 0.38; // opacity
const MIN_TEXT = 28; // Pixels below which a text would be an ellipsis.
const widths = new Map();

// paint draws the part of a flame graph that is in the window.
function paint(flame, theme) {
  const height = flame.depth * ROW;
  flame.body.style.height = `${height}px`;
  flame.width = flame.body.clientWidth;
  if (!flame.width) return;
  const shown = Math.min(height, innerHeight);
  const ratio = devicePixelRatio || 1;
  const { canvas } = flame;
  // The canvas sticks to the top of the window while its body scrolls by.
  flame.offset = Math.min(Math.max(0, -flame.body.getBoundingClientRect().top), height - shown);
  canvas.style.height = `${shown}px`;
  const size = [Math.round(flame.width * ratio), Math.round(shown * ratio)];
  if (canvas.width !== size[0]) canvas.width = size[0];
  if (canvas.height !== size[1]) canvas.height = size[1];

  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, flame.width, shown);
  c.textBaseline = 'middle';
  const thin = [];
  const first = Math.max(0, Math.floor(flame.offset / ROW));
  const last = Math.min(flame.depth - 1, Math.ceil((flame.offset + shown) / ROW));
  for (let row = first; row <= last; row++) {
    const y = row * ROW - flame.offset;
    for (const f of flame.rows[flame.flipped ? flame.depth - 1 - row : row]) {
      const left = Math.max(0, flame.px(f.x));
      const right = Math.min(flame.width, flame.px(f.x + f.total));
      if (right - left >= THIN) paintFrame(c, flame, f, left, y, right - left, theme);
      else if (right > left) thin.push([f, left, y, right - left]);
    }
  }
  // Many thin frames are wide together: each is painted in its width. A hit of the search is
  // visible above its neighbours.
  for (const [f, x, y, w] of flame.matches ? thin.sort(([a], [b]) => flame.hit(a) - flame.hit(b)) : thin) {
    c.globalAlpha = flame.dim(f) ? DIM : 1;
    c.fillStyle = flame.colour(f, theme);
    c.fillRect(x, y, flame.hit(f) ? 1 : w, ROW - 1);
  }
}

function paintFrame(c, flame, f, x, y, w, theme) {
  const dim = flame.dim(f);
  c.globalAlpha = dim ? DIM : 1;
  c.fillStyle = flame.colour(f, theme);
  const gap = w > 3 ? 1 : 0;
  c.fillRect(x, y, w - gap, ROW - 1);
  if (f === flame.hover || f === flame.focus) {
    c.globalAlpha = 1;
    c.strokeStyle = theme.ink;
    c.lineWidth = f === flame.focus ? 2 : 1;
    c.strokeRect(x + 1, y + 1, Math.max(1, w - gap - 2), ROW - 3);
  }
  if (w < MIN_TEXT) return;
  c.globalAlpha = dim ? 0.7 : 1;
  c.fillStyle = flame.hit(f) ? theme.matchInk : theme.ink;
  c.font = f.inlined ? `italic ${FONT}` : f.parent ? FONT : `600 ${FONT}`;
  const text = fit(c, flame, f, w - 10);
  if (text) c.fillText(text, x + 5, y + ROW / 2);
}

// fit returns the longest form of a frame's name that has room.
function fit(c, flame, f, room) {
  const full = f.parent ? mark(f) + f.name : `${f.name}  ${value(f.total, flame.unit)}`;
  if (measure(c, full) <= room) return full;
  const short = f.parent ? shortName(f.name) : full;
  if (measure(c, short) <= room) return short;
  // The colour shows the package, so the method's name is enough.
  const last = f.parent ? bareName(short) : short;
  const width = measure(c, last);
  if (width <= room) return last;
  let n = Math.floor(last.length * room / width);
  while (n >= 2 && measure(c, `${last.slice(0, n)}\u2026`) > room) n--;
  return n < 2 ? '' : `${last.slice(0, n)}\u2026`;
}

function measure(c, text) {
  const key = c.font + text;
  let w = widths.get(key);
  if (w === undefined) widths.set(key, w = c.measureText(text).width);
  return w;
}
