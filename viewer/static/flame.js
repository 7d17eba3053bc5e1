// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { h } from './dom.js';
import { bareName, percent, pkg, shortName, signedPoints, value } from './format.js';

const ROW = 20;
const FONT = '12px system-ui, sans-serif';
const MIN_TEXT = 28; // Pixels below which a text would be an ellipsis.

// Flame is a flame graph on a canvas. The canvas is as high as the window at
// most and follows it, so that a deep graph costs no more than a shallow one.
export class Flame {
  // options: root is the tree, unit that of its values, label the graph's name
  // for those who cannot see it. deltas, a Map from function names to the
  // change of their share, colours by change instead of by package.
  constructor({ root, unit, label, deltas }) {
    this.unit = unit;
    this.deltas = deltas;
    this.maxDelta = Math.max(0.02, ...(deltas ? [...deltas.values()].map((d) => Math.abs(d.delta)) : []));
    this.total = root.total;
    this.frames = flatten(root);
    this.depth = 1 + this.frames.reduce((d, f) => Math.max(d, f.depth), 0);
    this.zoomed = this.frames[0];
    this.focus = null;
    this.hover = null;
    this.view = [0, this.total];
    this.matches = null;
    this.flipped = false;
    this.widths = new Map();

    this.canvas = h('canvas', { tabindex: 0, role: 'application', 'aria-label': `${label}. Arrow keys move between frames, Enter zooms in, Escape zooms out.` });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.live = h('div', { class: 'sr', 'aria-live': 'polite' });
    this.body = h('div', { class: 'flame' }, this.canvas);
    this.found = h('output', { class: 'found' });
    this.search = h('input', { type: 'search', placeholder: 'Search functions  ( / )', 'aria-label': `Search functions in ${label}`, spellcheck: 'false', autocomplete: 'off', 'data-search': '' });
    this.reset = h('button', { type: 'button', disabled: true, onclick: () => this.zoom(this.frames[0]) }, 'Reset zoom');
    this.flip = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.turn() }, 'Root at bottom');
    this.element = h('section', { class: 'graph', 'aria-label': label },
      h('div', { class: 'tools' }, this.search, this.found, h('span', { class: 'grow' }), this.flip, this.reset),
      this.body, this.tip, this.live);
    this.listen();
  }

  listen() {
    this.search.addEventListener('input', () => this.find(this.search.value));
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
      this.showTip(frame, e.clientX, e.clientY);
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
    new ResizeObserver(() => this.draw()).observe(this.body);
    addEventListener('scroll', () => this.draw(), { passive: true });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  key(e) {
    const at = this.focus ?? this.zoomed;
    let next;
    switch (e.key) {
      case 'ArrowDown': next = this.flipped ? at.parent : at.children[0]; break;
      case 'ArrowUp': next = this.flipped ? at.children[0] : at.parent; break;
      case 'ArrowLeft': next = sibling(at, -1); break;
      case 'ArrowRight': next = sibling(at, 1); break;
      case 'Enter': case ' ': next = at; this.zoom(at); break;
      case 'Escape': if (this.zoomed.parent) { next = this.zoomed.parent; this.zoom(next); } break;
      case 'Home': next = this.frames[0]; break;
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

  // zoom makes frame as wide as the graph.
  zoom(frame) {
    this.zoomed = frame;
    this.reset.disabled = !frame.parent;
    const from = [...this.view];
    const to = [frame.x, frame.x + frame.total];
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.view = to;
      this.draw();
      return;
    }
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

  turn() {
    this.flipped = !this.flipped;
    this.flip.setAttribute('aria-pressed', String(this.flipped));
    this.draw();
  }

  // find marks the functions whose names hold text. A frame below another
  // match adds nothing to the sum.
  find(text) {
    const wanted = text.trim().toLowerCase();
    this.matches = null;
    this.found.textContent = '';
    if (wanted) {
      this.matches = new Set();
      const counted = new Set();
      let sum = 0;
      for (const f of this.frames) {
        const hit = f.parent && f.name.toLowerCase().includes(wanted);
        if (hit) {
          this.matches.add(f);
          if (!counted.has(f.parent)) sum += f.total;
        }
        if (hit || counted.has(f.parent)) counted.add(f);
      }
      this.found.textContent = this.matches.size ? `${percent(sum / this.total)} of the total (${value(sum, this.unit)})` : 'no match';
    }
    this.draw();
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

  describe(f) {
    const lines = [`${value(f.total, this.unit)}, ${percent(f.total / this.total)} of the total`];
    if (f.self !== f.total) lines.push(`self ${value(f.self, this.unit)}, ${percent(f.self / this.total)}`);
    const d = this.deltas?.get(f.name);
    if (d) lines.push(`function: ${percent(d.left)} \u2192 ${percent(d.right)} (${signedPoints(d.delta)})`);
    if (f.node.file) lines.push(f.node.line ? `${f.node.file}:${f.node.line}` : f.node.file);
    if (f.node.inlined) lines.push('inlined');
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
      this.paint();
    });
  }

  paint() {
    const height = this.depth * ROW;
    this.body.style.height = `${height}px`;
    this.width = this.body.clientWidth;
    if (!this.width) return;
    const shown = Math.min(height, innerHeight);
    const ratio = devicePixelRatio || 1;
    // The canvas sticks to the top of the window while its body scrolls by.
    this.offset = Math.min(Math.max(0, -this.body.getBoundingClientRect().top), height - shown);
    this.canvas.style.height = `${shown}px`;
    const size = [Math.round(this.width * ratio), Math.round(shown * ratio)];
    if (this.canvas.width !== size[0]) this.canvas.width = size[0];
    if (this.canvas.height !== size[1]) this.canvas.height = size[1];

    const c = this.canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, shown);
    c.textBaseline = 'middle';
    const theme = readTheme();
    for (const f of this.frames) {
      const y = this.row(f) * ROW - this.offset;
      if (y <= -ROW || y >= shown) continue;
      const left = Math.max(0, this.px(f.x));
      const right = Math.min(this.width, this.px(f.x + f.total));
      if (right - left < 0.4) continue;
      this.paintFrame(c, f, left, y, right - left, theme);
    }
  }

  paintFrame(c, f, x, y, w, theme) {
    const hit = this.matches?.has(f);
    const dim = !hit && (this.matches || f.depth < this.zoomed.depth);
    c.globalAlpha = dim ? 0.38 : 1;
    c.fillStyle = hit ? theme.match : this.colour(f, theme);
    const gap = w > 3 ? 1 : 0;
    c.fillRect(x, y, w - gap, ROW - 1);
    if (f === this.hover || f === this.focus) {
      c.globalAlpha = 1;
      c.strokeStyle = theme.ink;
      c.lineWidth = f === this.focus ? 2 : 1;
      c.strokeRect(x + 1, y + 1, Math.max(1, w - gap - 2), ROW - 3);
    }
    if (w < MIN_TEXT) return;
    c.globalAlpha = dim ? 0.7 : 1;
    c.fillStyle = hit ? theme.matchInk : theme.ink;
    c.font = f.node.inlined ? `italic ${FONT}` : f.parent ? FONT : `600 ${FONT}`;
    const text = this.fit(c, f, w - 10);
    if (text) c.fillText(text, x + 5, y + ROW / 2);
  }

  // fit returns the longest form of a frame's name that has room.
  fit(c, f, room) {
    const full = f.parent ? f.name : `total  ${value(f.total, this.unit)}`;
    if (this.measure(c, full) <= room) return full;
    const short = f.parent ? shortName(full) : full;
    if (this.measure(c, short) <= room) return short;
    // The package is in the colour; what is left is the method's name.
    const last = f.parent ? bareName(short) : short;
    const width = this.measure(c, last);
    if (width <= room) return last;
    let n = Math.floor(last.length * room / width);
    while (n >= 2 && this.measure(c, `${last.slice(0, n)}\u2026`) > room) n--;
    return n < 2 ? '' : `${last.slice(0, n)}\u2026`;
  }

  measure(c, text) {
    const key = c.font + text;
    let w = this.widths.get(key);
    if (w === undefined) this.widths.set(key, w = c.measureText(text).width);
    return w;
  }

  colour(f, theme) {
    if (!f.parent) return theme.plain;
    if (this.deltas) {
      const delta = this.deltas.get(f.name)?.delta ?? 0;
      return deltaColour(delta / this.maxDelta, theme.dark);
    }
    if (f.name === '(other)') return theme.plain;
    return packageColour(pkg(f.name), theme.dark);
  }
}

// deltaColour runs from blue over grey to red while t runs from -1 to 1.
export function deltaColour(t, dark) {
  const strength = Math.min(1, Math.abs(t)) ** 0.7;
  const hue = t > 0 ? 6 : 214;
  return dark
    ? `hsl(${hue} ${Math.round(62 * strength)}% ${Math.round(27 + 15 * strength)}%)`
    : `hsl(${hue} ${Math.round(82 * strength)}% ${Math.round(90 - 20 * strength)}%)`;
}

export function packageColour(name, dark) {
  // The runtime is what all programs share, and seldom what one looks for.
  if (name === 'runtime' || name.startsWith('runtime/') || name.startsWith('internal/runtime')) {
    return dark ? 'hsl(220 9% 33%)' : 'hsl(220 14% 83%)';
  }
  let hash = 2166136261; // FNV-1a
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
  hash ^= hash >>> 15;
  const hue = hash % 24 * 15;
  const tone = (hash >>> 8) % 3 * 3;
  return dark ? `hsl(${hue} 34% ${31 + tone}%)` : `hsl(${hue} 58% ${75 + tone}%)`;
}

function readTheme() {
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).trim();
  return { dark: get('--dark') === '1', ink: get('--frame-ink'), plain: get('--frame-plain'), match: get('--match'), matchInk: get('--match-ink') };
}

// flatten lists the frames of a tree, parents before their children, each with
// the place where it begins.
function flatten(root) {
  const frames = [];
  const todo = [[root, null, 0, 0]];
  while (todo.length) {
    const [node, parent, x, depth] = todo.pop();
    const frame = { node, parent, x, depth, name: node.name, self: node.self, total: node.total, children: [] };
    frames.push(frame);
    parent?.children.push(frame);
    let at = x;
    const below = (node.children ?? []).map((child) => {
      const entry = [child, frame, at, depth + 1];
      at += child.total;
      return entry;
    });
    todo.push(...below.reverse());
  }
  return frames;
}

function sibling(frame, by) {
  const all = frame.parent?.children ?? [frame];
  return all[all.indexOf(frame) + by];
}
