// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// flatten lists the frames of a tree, parents before their children, each with
// the place where it begins.
export function flatten(root) {
  const frames = [];
  const todo = [[root, null, 0, 0]];
  while (todo.length) {
    const [node, parent, x, depth] = todo.pop();
    const frame = { parent, x, depth, name: node.name, self: node.self ?? 0, total: node.total, left: node.left ?? 0, inlined: Boolean(node.inlined), type: node.type, children: [] };
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

// within says whether a frame is below another one, or the same.
export const within = (frame, outer) => frame.x >= outer.x && frame.x + frame.total <= outer.x + outer.total && frame.depth >= outer.depth;
