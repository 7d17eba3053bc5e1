// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { pkg } from './format.js';

// Graph is a flame graph out of the flat arrays of an answer. frames[0] is the root, and each frame
// follows its parent. fn is the index of its function, left its total on the other side, x its
// place.
export class Graph {
  // side selects the values of a comparison: 'left' has only the frames of that side.
  constructor(data, side = '') {
    this.data = data;
    this.omitted = data.omitted ?? 0;
    const self = side ? data.leftSelf : data.self;
    const total = side ? data.leftTotal : data.total;
    const inlined = new Set(data.inlined);
    const made = data.function.map((fn, i) => ({ fn, name: fn < 0 ? 'total' : this.name(fn), parent: null, children: [], depth: 0, x: 0, self: self[i], total: total[i], left: side ? 0 : data.leftTotal?.[i] ?? 0, inlined: inlined.has(i), type: fn < 0 ? '' : this.type(fn) }));
    this.frames = made.filter((frame, i) => {
      if (i > 0 && frame.total) place(frame, made[i - data.parent[i]]);
      return i === 0 || frame.total;
    });
  }

  text(column, fn) { return this.data.texts[this.data.functions[column]?.[fn] ?? 0]; }
  name(fn) { return this.text('name', fn); }
  type(fn) { return this.text('type', fn); }
  packageOf(fn) { return this.text('package', fn) || pkg(this.name(fn)); }

  // list returns the functions with their values. lines are [line, self, total].
  list() {
    const f = this.data.functions;
    return f.name.map((_, fn) => ({ fn, name: this.name(fn), file: this.text('file', fn), package: this.packageOf(fn), source: this.text('source', fn), type: this.type(fn), line: f.line[fn], self: f.self[fn], total: f.total[fn], lines: triples(f.lines[fn]) })).filter((of) => of.total);
  }

  // packages returns [name, self] of each package, the most self first.
  packages() {
    const sums = new Map();
    for (const { package: name, self } of this.list()) if (self) sums.set(name, (sums.get(name) ?? 0) + self);
    return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  }

  // find returns the indexes of functions by a part of the qualified name, or by type.
  find(text, type) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return null;
    return new Set(this.data.functions.name.map((_, fn) => fn).filter((fn) => (type ? this.type(fn) === type : this.qualified(fn).toLowerCase().includes(wanted))));
  }

  // qualified is a function's name with its package, which assembly lacks.
  qualified(fn) {
    const own = this.text('package', fn);
    return own ? `${own}.${this.name(fn)}` : this.name(fn);
  }

  // focus returns the graphs of the callers and the callees of the functions with a name. A stack
  // counts once, at the call nearest to the root.
  focus(name) {
    const callers = [root(name)];
    const callees = [root(name)];
    const center = new Map(); // the outermost frames of the function, by frame: its place in callees
    for (const frame of this.frames) {
      const above = center.get(frame.parent);
      if (above) center.set(frame, child(above, frame, callees));
      else if (frame.name === name && frame.parent) center.set(frame, callees[0]);
      else continue;
      const at = center.get(frame);
      at.self += frame.self;
      if (above) {
        at.total += frame.total;
        continue;
      }
      for (const top of [callers[0], callees[0]]) top.total += frame.total;
      let caller = callers[0];
      for (let f = frame.parent; f.parent; f = f.parent) {
        caller = child(caller, f, callers);
        caller.total += frame.total;
        if (!f.parent.parent) caller.self += frame.total;
      }
    }
    return { callers: this.with(callers), callees: this.with(callees) };
  }

  // with returns a graph of other frames with the same functions.
  with(frames) {
    const graph = Object.assign(Object.create(Graph.prototype), { data: this.data, omitted: this.omitted, frames: [] });
    const add = [frames[0]];
    while (add.length) {
      const frame = add.pop();
      graph.frames.push(frame);
      frame.children.sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
      let x = frame.x;
      for (const below of frame.children) {
        below.x = x;
        x += below.total;
      }
      add.push(...[...frame.children].reverse());
    }
    return graph;
  }
}

// place puts a frame below its parent, after the ones that are there.
function place(frame, parent) {
  const before = parent.children.at(-1);
  Object.assign(frame, { parent, depth: parent.depth + 1, x: before ? before.x + before.total : parent.x });
  parent.children.push(frame);
}

const root = (name) => ({ fn: -1, name, parent: null, children: [], byName: new Map(), depth: 0, x: 0, self: 0, total: 0, left: 0, inlined: false, type: '' });

function child(parent, { fn, name, type }, all) {
  let frame = parent.byName.get(fn);
  if (!frame) {
    frame = { ...root(name), fn, type, parent, depth: parent.depth + 1 };
    parent.byName.set(fn, frame);
    parent.children.push(frame);
    all.push(frame);
  }
  return frame;
}

const triples = (flat) => Array.from({ length: flat.length / 3 }, (_, i) => flat.slice(3 * i, 3 * i + 3));

export function sibling(frame, by) {
  const all = frame.parent?.children ?? [frame];
  return all[all.indexOf(frame) + by];
}

// within reports whether a frame is below another one, or the same.
export const within = (frame, outer) => frame.x >= outer.x && frame.x + frame.total <= outer.x + outer.total && frame.depth >= outer.depth;

const encoder = new TextEncoder();
// pathID names a frame in addresses: the hash of the functions from the root to it.
export const pathID = (frame) => (frame.parent ? sum(frame).toString(16).padStart(8, '0') : '');

function sum(frame) {
  if (!frame.parent) return 2166136261; // FNV-1a
  frame.sum ??= [...encoder.encode(frame.name), 0, ...encoder.encode(frame.type ?? ''), 0].reduce((n, byte) => Math.imul(n ^ byte, 16777619) >>> 0, sum(frame.parent));
  return frame.sum;
}

// topmost sums the frames of some functions without those below others of them.
export function topmost(frames, matches) {
  const counted = new Set();
  let sum = 0;
  for (const f of frames) {
    const hit = matches.has(f.fn) && f.parent;
    if (hit && !counted.has(f.parent)) sum += f.total;
    if (hit || counted.has(f.parent)) counted.add(f);
  }
  return sum;
}
