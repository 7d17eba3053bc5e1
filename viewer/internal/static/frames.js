// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

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
