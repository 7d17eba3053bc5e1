// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { OTHER } from './flameparts.js';
import { bareName, shortName, value } from './format.js';
import { mark } from './legends.js';

export const ROW = 20;
const FONT = '12px system-ui, sans-serif';
const MOST = 8000;
const PAPER = 760; // Pixels across a sheet: its names are as large as other text.
const THIN = 0.4; // Pixels.
const MIN_TEXT = 28; // Pixels below which a text would be an ellipsis.
const widths = new Map();

// paint draws the part of a flame graph that is in the window, or the whole of it.
export function paint(flame, theme, whole) {
  const height = flame.depth * ROW;
  flame.body.style.height = `${height}px`;
  flame.width = whole ? Math.min(PAPER, flame.body.clientWidth) : flame.body.clientWidth;
  if (!flame.width) return;
  // What is deeper than this has no room in a canvas.
  const shown = Math.min(height, whole ? MOST : innerHeight);
  const ratio = Math.max(devicePixelRatio || 1, whole ? 2 : 1);
  const { canvas } = flame;
  // The canvas sticks to the top of the window while its body scrolls by.
  flame.offset = whole ? 0 : Math.min(Math.max(0, -flame.body.getBoundingClientRect().top), height - shown);
  canvas.style.height = `${shown}px`;
  const size = [Math.round(flame.width * ratio), Math.round(shown * ratio)];
  if (canvas.width !== size[0]) canvas.width = size[0];
  if (canvas.height !== size[1]) canvas.height = size[1];

  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, flame.width, shown);
  c.textBaseline = 'middle';
  const thin = [];
  for (const f of flame.frames) {
    const y = flame.row(f) * ROW - flame.offset;
    if (y <= -ROW || y >= shown) continue;
    const left = Math.max(0, flame.px(f.x));
    const right = Math.min(flame.width, flame.px(f.x + f.total));
    if (right - left >= THIN) paintFrame(c, flame, f, left, y, right - left, theme);
    else if (right > left) thin.push([f, left, y, right - left]);
  }
  // Many frames that are thin are wide together: each is painted as wide as it is. One that
  // was searched for has to be seen, above its neighbours.
  for (const [f, x, y, w] of thin.sort(([a], [b]) => isHit(flame, a) - isHit(flame, b))) {
    const hit = isHit(flame, f);
    c.globalAlpha = !hit && (flame.matches || f.depth < flame.zoomed.depth) ? 0.38 : 1;
    c.fillStyle = hit ? theme.match : flame.colour(f, theme);
    c.fillRect(x, y, hit ? 1 : w, ROW - 1);
  }
}

const isHit = (flame, f) => Boolean(flame.matches?.has(f));

function paintFrame(c, flame, f, x, y, w, theme) {
  const hit = flame.matches?.has(f);
  const dim = !hit && (flame.matches || f.depth < flame.zoomed.depth);
  c.globalAlpha = dim ? 0.38 : 1;
  c.fillStyle = hit ? theme.match : flame.colour(f, theme);
  const gap = w > 3 ? 1 : 0;
  c.fillRect(x, y, w - gap, ROW - 1);
  // Of a frame that stands for others, as much is marked as was found in them.
  if (!hit && flame.matches && f.match && f.name === OTHER) {
    c.globalAlpha = 1;
    c.fillStyle = theme.match;
    c.fillRect(x, y, Math.max(1, (w - gap) * f.match / f.total), ROW - 1);
  }
  if (f === flame.hover || f === flame.focus) {
    c.globalAlpha = 1;
    c.strokeStyle = theme.ink;
    c.lineWidth = f === flame.focus ? 2 : 1;
    c.strokeRect(x + 1, y + 1, Math.max(1, w - gap - 2), ROW - 3);
  }
  if (w < MIN_TEXT) return;
  c.globalAlpha = dim ? 0.7 : 1;
  c.fillStyle = hit ? theme.matchInk : theme.ink;
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
