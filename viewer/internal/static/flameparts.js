// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { count, percent, value } from './format.js';
import { typeOfMark } from './legends.js';

// flatten lists the frames of a tree, parents before their children, each with
// the place where it begins.
export function flatten(root) {
  const frames = [];
  const todo = [[root, null, 0, 0]];
  while (todo.length) {
    const [node, parent, x, depth] = todo.pop();
    const frame = { parent, x, depth, name: node.name, self: node.self ?? 0, total: node.total, left: node.left ?? 0, match: node.match ?? 0, hidden: node.frames ?? 0, inlined: Boolean(node.inlined), type: node.type, children: [] };
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

export function sibling(frame, by) {
  const all = frame.parent?.children ?? [frame];
  return all[all.indexOf(frame) + by];
}

// rooted returns the tree of a part of a graph: the frames that lead to it, each with what
// the part leaves out as one frame beside the next.
export function rooted({ flame, path }) {
  return (path ?? []).reduceRight((below, node) => {
    const rest = node.total - (node.self ?? 0) - below.total;
    const match = Math.max(0, Math.min(rest, (node.match ?? 0) - (below.match ?? 0)));
    return { ...node, children: [below, ...(rest > 0 ? [{ name: OTHER, total: rest, self: rest, match }] : [])] };
  }, flame);
}

export const OTHER = '(other)';

// isCut says whether frames below a frame were cut.
export function isCut(frame) {
  const todo = [frame];
  while (todo.length) {
    const f = todo.pop();
    if (f.name === OTHER) return true;
    todo.push(...f.children);
  }
  return false;
}

// pathID names a frame by the functions from below the root to it, as the server does.
export function pathID(frame) {
  return frame.parent ? sums(frame).map((n) => n.toString(16).padStart(8, '0')).join('') : '';
}

const FIRST = 2166136261; // FNV-1a
const PRIME = 16777619;
const encoder = new TextEncoder();

function sums(frame) {
  if (!frame.parent) return [FIRST, (FIRST ^ 0x9e3779b9) >>> 0];
  frame.sums ??= [...encoder.encode(frame.name), 0, ...encoder.encode(frame.type ?? ''), 0].reduce(
    (both, byte) => both.map((n) => Math.imul(n ^ byte, PRIME) >>> 0), sums(frame.parent));
  return frame.sums;
}

// within says whether a frame is below another one, or the same.
export const within = (frame, outer) => frame.x >= outer.x && frame.x + frame.total <= outer.x + outer.total && frame.depth >= outer.depth;

// PAUSE is how long somebody who types rests before the server is asked.
const PAUSE = 200;

// FlameParts gets what a graph shows: a page has its widest frames alone. Search and zoom ask
// the server, whose sums count all frames.
export class FlameParts {
  // given is the tree of the page. ask gets a part of it from the server; without it the
  // tree is complete. changed is called with each new list of frames and the one that is
  // zoomed to.
  constructor({ given, ask, functions, unit, changed }) {
    Object.assign(this, { given, ask, functions, unit, changed, text: '', zoom: '', pending: false, failed: '', lost: '' });
    this.show(given, '');
  }

  // replace gives it another tree, of later samples.
  replace(given, functions) {
    Object.assign(this, { given, functions, searched: null });
    this.refresh(0);
  }

  show(root, zoom) {
    this.frames = flatten(root);
    this.zoomed = (zoom && this.frames.find((f) => pathID(f) === zoom)) || this.frames[0];
    this.mark();
  }

  // mark finds the frames that the search is about, and the cut ones that hide some.
  mark() {
    const wanted = this.text.trim().toLowerCase();
    const type = typeOfMark(wanted);
    this.matches = wanted ? new Set(this.frames.filter((f) => f.parent && f.name !== OTHER && (type ? f.type === type : this.qualified(f.name).toLowerCase().includes(wanted)))) : null;
  }

  // qualified is a function's name with its package, which those of assembly lack.
  qualified(name) {
    const pkg = this.functions?.get(name)?.package;
    return pkg ? `${pkg}.${name}` : name;
  }

  // search looks for a text; frame is what to zoom to.
  search(text) {
    if (text.trim() === this.text.trim()) return;
    this.text = text;
    this.searched = null;
    this.mark();
    this.refresh(PAUSE);
  }

  zoomTo(frame) {
    this.zoomed = frame;
    this.zoom = pathID(frame);
    this.lost = '';
    // What is drawn of it may be all of it; a search has to know the sums of what is not. An
    // answer on its way is to an earlier zoom.
    if (this.ask && (this.pending || (frame.parent ? isCut(frame) : this.shownZoom))) this.refresh(0);
  }

  // refresh asks the server for what the search and the zoom are about. lost says why there is
  // no zoom any more.
  async refresh(pause, lost = '') {
    this.lost = lost;
    clearTimeout(this.typing);
    this.asked?.abort();
    this.asked = null;
    const search = this.text.trim();
    const { zoom } = this;
    if (!this.ask || (!search && !zoom)) {
      this.pending = false;
      this.failed = '';
      this.shownZoom = '';
      this.show(this.given, zoom);
      this.changed();
      return;
    }
    this.pending = true;
    this.changed();
    if (pause) await new Promise((done) => { this.typing = setTimeout(done, pause); });
    const asked = this.asked = new AbortController();
    try {
      const [whole, part] = await Promise.all([
        search ? this.searched ?? this.ask({ search }, asked.signal) : null,
        zoom ? this.ask({ search, zoom }, asked.signal) : null,
      ]);
      if (this.asked !== asked) return;
      this.searched = whole;
      this.failed = '';
      this.shownZoom = part ? zoom : '';
      this.show(part ? rooted(part) : whole.flame, zoom);
    } catch (err) {
      if (this.asked !== asked) return;
      if (zoom && err.refused) {
        this.zoom = '';
        await this.refresh(0, err.message);
        return;
      }
      this.failed = err.message;
    }
    this.pending = false;
    this.changed();
  }

  // found says in words what the search found.
  found() {
    if (!this.text.trim()) return this.failed || this.lost;
    if (this.pending) return 'searching \u2026';
    if (this.failed) return `search failed: ${this.failed}`;
    const root = this.frames[0];
    const sum = this.ask ? root.match : topmost(this.frames, this.matches);
    if (!sum) return 'no match';
    const parts = [`${percent(sum / (root.total || 1))} of the total (${value(sum, this.unit)})`];
    const { zoomed } = this;
    if (zoomed.parent && this.ask) parts.push(`${percent(zoomed.match / (zoomed.total || 1))} of what is zoomed to`);
    const hidden = this.hidden().reduce((n, f) => n + f.match, 0);
    if (hidden) parts.push(`${value(hidden, this.unit)} of it in frames too narrow to draw`);
    if (this.lost) parts.push(this.lost);
    return parts.join('; ');
  }

  // hidden are the frames that stand for those that are too narrow.
  hidden() {
    return this.frames.filter((f) => f.name === OTHER && f.hidden && within(f, this.zoomed));
  }

  // cut says in words what is too narrow to be drawn; '' if nothing is.
  cut() {
    const hidden = this.hidden();
    const frames = hidden.reduce((n, f) => n + f.hidden, 0);
    if (!frames) return '';
    const sum = hidden.reduce((n, f) => n + f.total, 0);
    return `${count(frames, 'frame')} too narrow to draw ${frames === 1 ? 'is' : 'are'} summed as ${OTHER}: ${percent(sum / (this.zoomed.total || 1))} of what is shown (${value(sum, this.unit)}). Zoom in or search to see ${frames === 1 ? 'it' : 'them'}.`;
  }
}

// topmost sums frames without those below others of them.
function topmost(frames, matches) {
  const counted = new Set();
  let sum = 0;
  for (const f of frames) {
    if (matches.has(f) && !counted.has(f.parent)) sum += f.total;
    if (matches.has(f) || counted.has(f.parent)) counted.add(f);
  }
  return sum;
}
