// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { remember, rememberTyped } from './api.js';
import { packageColour, deltaColour, theme, typeColour } from './colours.js';
import { copyButton } from './copy.js';
import { button, h } from './dom.js';
import { paint, ROW } from './flamepaint.js';
import { FlameParts, OTHER, sibling, within } from './flameparts.js';
import { count, percent, pkg, signedPoints, value } from './format.js';
import { follow, followSize } from './listen.js';

// Flame is a flame graph on a canvas. The canvas is at most as high as the window and
// moves with it, so that a deep graph costs no more than a shallow one.
export class Flame {
  // options: root is the tree, unit the unit of its values, label the graph's name for
  // screen readers, whole the total for shares if that is not the graph's own. functions is
  // a Map from names to {file, line}; deltas is a Map from names to the change of a
  // function's share, which then sets the colour. flipped puts the root at the bottom, simple omits the tools,
  // onfunction is called with the name whose callers and callees to show. ask gets parts of
  // the graph from the server. remembered are the parameters of the address that have the
  // search and the zoom of a graph.
  constructor(options) {
    const { root, unit, label, whole, functions, deltas, flipped, simple, onfunction, ask, remembered } = options;
    Object.assign(this, { unit, whole, functions, deltas, onfunction, remembered, flipped: Boolean(flipped) });
    this.parts = new FlameParts({ given: root, ask, functions, unit, changed: () => this.take() });
    if (deltas) this.maxDelta = this.frames.reduce((m, f) => Math.max(m, Math.abs(this.delta(f))), 0.02);
    this.view = [0, root.total];

    this.canvas = h('canvas', { tabindex: 0, role: 'application', 'aria-label': `${label}. Arrow keys move between frames, Enter zooms in, Escape zooms out${onfunction ? ', c shows callers and callees' : ''}.` });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.live = h('div', { class: 'sr', 'aria-live': 'polite' });
    this.body = h('div', { class: 'flame' }, this.canvas);
    this.found = h('output', { class: 'found' });
    this.search = h('input', { type: 'search', placeholder: 'Search functions  ( / )', 'aria-label': `Search functions in ${label}`, spellcheck: 'false', autocomplete: 'off', 'data-search': '' });
    this.cut = h('p', { class: 'muted cut-frames', role: 'status', hidden: true });
    this.reset = button('Reset zoom', () => this.zoom(this.frames[0]), { disabled: true });
    this.flip = button('Root at bottom', () => this.turn(), { 'aria-pressed': String(this.flipped) });
    this.detail = h('div', { class: 'detail', hidden: true });
    this.element = h('section', { class: 'graph', 'aria-label': label },
      !simple && h('div', { class: 'tools' }, this.search, this.found, h('span', { class: 'grow' }), this.flip, this.reset),
      this.detail, this.body, this.cut, this.tip, this.live);
    this.listen();
    this.recall();
    this.take();
  }

  get frames() { return this.parts.frames; }

  get zoomed() { return this.parts.zoomed; }

  get matches() { return this.parts.matches; }

  get depth() { return this.deepest; }

  // take shows the frames that have come.
  take() {
    if (this.taken !== this.frames) {
      this.taken = this.frames;
      this.deepest = 1 + this.frames.reduce((d, f) => Math.max(d, f.depth), 0);
      this.hover = this.focus = null;
      this.view = [this.zoomed.x, this.zoomed.x + this.zoomed.total];
      this.showDetail(this.zoomed);
    }
    this.reset.disabled = !this.zoomed.parent;
    this.found.textContent = this.parts.found();
    const cut = this.parts.cut();
    this.cut.hidden = !cut;
    if (this.cut.textContent !== cut) this.cut.textContent = cut;
    this.element.setAttribute('aria-busy', String(this.parts.pending));
    this.draw();
  }

  // update shows later samples of the same.
  update(root, functions) {
    this.functions = functions;
    this.parts.replace(root, functions);
  }

  // recall does what the address says, remember writes it there.
  recall() {
    if (!this.remembered) return;
    const params = new URLSearchParams(location.search);
    const [search, zoom] = this.remembered.map((key) => params.get(key) ?? '');
    this.search.value = this.parts.text = search;
    this.parts.zoom = zoom;
    if (this.parts.text || this.parts.zoom) this.parts.refresh(0);
  }

  shown() {
    const [search, zoom] = this.remembered;
    return { [search]: this.search.value.trim(), [zoom]: this.parts.zoom };
  }

  remember() {
    if (this.remembered) remember(this.shown());
  }

  listen() {
    this.search.addEventListener('input', () => this.look(this.search.value));
    if (this.remembered) rememberTyped(this.search, () => this.shown());
    this.search.addEventListener('keydown', (e) => {
      if (e.key !== 'Escape') return;
      this.search.value = '';
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
      if (!frame) return;
      // Frames that were cut show up when what they are in is zoomed to.
      if (frame.name === OTHER) this.zoom(frame.parent);
      else this.zoom(frame === this.zoomed && frame.parent ? frame.parent : frame);
    });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.canvas.addEventListener('blur', () => {
      this.focus = null;
      this.tip.hidden = true;
      this.draw();
    });
    followSize(this.body, () => this.draw());
    follow(this.element, 'beforeprint', () => paint(this, theme(), true));
    for (const kind of ['scroll', 'theme', 'afterprint']) follow(this.element, kind, () => this.draw());
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
      case 'c': if (this.onfunction && at.parent && at.name !== OTHER) this.onfunction(at.name); break;
      default: return;
    }
    e.preventDefault();
    if (!next) return;
    this.focus = next;
    // A frame outside the zoomed one cannot be seen: zoom out to it.
    if (next.x < this.zoomed.x || next.x + next.total > this.zoomed.x + this.zoomed.total) this.zoom(next.parent ?? next);
    this.draw();
    this.live.textContent = this.describe(next).join(', ');
    const box = this.canvas.getBoundingClientRect();
    const top = this.body.getBoundingClientRect().top + this.row(next) * ROW;
    if (top < 0 || top > innerHeight - 2 * ROW) scrollBy(0, top - innerHeight / 2);
    const y = this.body.getBoundingClientRect().top + this.row(next) * ROW;
    this.showTip(next, box.left + Math.max(0, this.px(next.x)) + 8, y + ROW / 2);
  }

  nextMatch(at) {
    if (!this.matches?.size) return null;
    const all = [...this.matches].filter((f) => within(f, this.zoomed));
    const from = this.frames.indexOf(at);
    return all.find((f) => this.frames.indexOf(f) > from) ?? all[0];
  }

  // zoom makes frame as wide as the graph.
  zoom(frame) {
    const from = [...this.view];
    if (frame.name === OTHER && frame.parent) frame = frame.parent;
    this.parts.zoomTo(frame);
    // Of a zoom out of what the server has sent, the frames are new ones.
    frame = this.zoomed;
    this.remember();
    this.showDetail(frame);
    this.take();
    const to = [frame.x, frame.x + frame.total];
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.view = to;
      this.draw();
      return;
    }
    this.view = from;
    const began = performance.now();
    const step = (now) => {
      if (this.zoomed !== frame) return;
      const t = Math.min(1, Math.max(0, (now - began) / 160));
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
      this.onfunction && frame.name !== OTHER && button('Callers and callees', () => this.onfunction(frame.name)),
      copyButton('Copy name', () => frame.name));
  }

  turn() {
    this.flipped = !this.flipped;
    this.flip.setAttribute('aria-pressed', String(this.flipped));
    this.draw();
  }

  // look marks the functions whose names contain text, or which are of the type that the
  // text is the mark of; find remembers that at once.
  look(text) {
    this.parts.search(text);
    this.take();
  }

  find(text) {
    this.look(text);
    this.remember();
  }

  row(frame) { return this.flipped ? this.depth - 1 - frame.depth : frame.depth; }

  px(x) { return (x - this.view[0]) / (this.view[1] - this.view[0]) * this.width; }

  // at returns the frame under the pointer.
  at(e) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((e.clientY - box.top + this.offset) / ROW);
    const x = e.clientX - box.left;
    return this.frames.find((f) => this.row(f) === row && this.px(f.x) <= x && x < this.px(f.x + f.total)) ?? null;
  }

  // delta is the change of a frame's share, left to right.
  delta(f) {
    const root = this.frames[0];
    return f.total / (root.total || 1) - f.left / (root.left || 1);
  }

  describe(f) {
    const share = (v) => percent(v / ((this.whole ?? this.frames[0].total) || 1));
    const lines = [`${value(f.total, this.unit)}, ${share(f.total)} of the total`];
    if (this.zoomed.parent && f !== this.zoomed && within(f, this.zoomed)) lines.push(`${percent(f.total / this.zoomed.total)} of what is zoomed to`);
    if (f.self !== f.total) lines.push(`self ${value(f.self, this.unit)}, ${share(f.self)}`);
    if (this.deltas && f.parent) {
      const root = this.frames[0];
      lines.push(`this frame: ${percent(f.left / (root.left || 1))} \u2192 ${percent(f.total / root.total)} (${signedPoints(this.delta(f))})`);
      const d = this.deltas.get(f.name);
      if (d) lines.push(`the function everywhere: ${percent(d.left)} \u2192 ${percent(d.right)} (${signedPoints(d.delta)})`);
    }
    const fn = this.functions?.get(f.name);
    if (fn?.file) lines.push(fn.line ? `${fn.file}:${fn.line}` : fn.file);
    if (f.hidden) lines.push(`${count(f.hidden, 'frame')} too narrow to draw`);
    if (f.match && !this.matches?.has(f)) lines.push(`the search found ${value(f.match, this.unit)} in it`);
    if (f.inlined) lines.push('inlined');
    if (f.type === 'kernel' || f.type === 'native') lines.push(`${f.type} code`);
    return [f.name, ...lines];
  }

  showTip(frame, x, y) {
    this.tip.hidden = !frame;
    if (!frame) return;
    const [name, ...lines] = this.describe(frame);
    this.tip.replaceChildren(h('b', null, name), ...lines.map((l) => h('div', null, l)));
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      paint(this, theme());
    });
  }

  colour(f, { dark, plain }) {
    if (!f.parent) return plain;
    if (this.deltas) return deltaColour(this.delta(f) / this.maxDelta, dark);
    if (f.name === OTHER) return plain;
    if (f.type) return typeColour(f.type, dark);
    const name = this.functions?.get(f.name)?.package ?? pkg(f.name);
    return name ? packageColour(name, dark) : plain;
  }
}
