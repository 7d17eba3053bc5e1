// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { morph } from './keep.js';
import { follow } from './listen.js';

// SCREEN rows fill a screen: a portion has no fewer, or a slow browser would never end.
const SCREEN = 24;
// BUDGET is how many milliseconds go into a portion. The browser takes longer for its
// layout, and a user feels what takes more than 50 together.
const BUDGET = 8;

// rowsIn makes the children of a list in portions: the first at once, each other one in a
// frame of its own, and before printing all that are left. fill takes what is wanted in its
// order, [{key, of, make}]: make makes a row, and a row whose key is known is made anew only
// if the JSON of its data, of, is not what it was. Rows that were there stay until their turn
// comes, and rows that are not wanted any more until as many others have come, so that the list
// does not shrink meanwhile; with changed they go at once, as they answer another question. tell
// is called with each row and what it is of at each fill.
export function rowsIn(list, tell = () => {}) {
  const known = new Map(); // by key: {element, version}
  let items = [];
  let next = 0; // the rows before this one are in their places
  let turn = 0;
  let stale = []; // the elements to remove, in their order

  function place({ key, of, make }) {
    const version = JSON.stringify(of);
    let row = known.get(key);
    if (row?.version !== version) {
      const fresh = make();
      if (row) morph(row.element, fresh);
      known.set(key, row = { element: row?.element ?? fresh, version });
    }
    tell(row.element, of);
    return row.element;
  }

  function portion(least, budget) {
    const mine = ++turn;
    const until = performance.now() + budget;
    const focused = document.activeElement;
    let at = list.children[next] ?? null;
    let more = 0;
    for (const enough = next + least; next < items.length && (next < enough || performance.now() < until); next++) {
      const element = place(items[next]);
      if (element === at) at = at.nextElementSibling;
      else {
        if (element.parentNode !== list) more++;
        list.insertBefore(element, at);
      }
    }
    drop(next < items.length ? more : stale.length);
    // An element that is moved loses the focus.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    list.setAttribute('aria-busy', String(next < items.length));
    // After a frame: the layout of this portion is a task of its own.
    if (next < items.length) requestAnimationFrame(() => setTimeout(() => { if (mine === turn) portion(SCREEN, BUDGET); }));
  }

  function drop(n) {
    for (const element of stale.splice(Math.max(0, stale.length - n))) element.remove();
  }

  follow(list, 'beforeprint', () => portion(items.length, 0));
  return {
    // busy says that rows are left: newer ones would keep the last from ever coming.
    busy: () => next < items.length,
    fill(wanted, changed) {
      items = wanted;
      next = 0;
      const keys = new Set(items.map((item) => item.key));
      for (const key of [...known.keys()]) if (!keys.has(key)) known.delete(key);
      const kept = new Set([...known.values()].map((row) => row.element));
      stale = [...list.children].filter((element) => !kept.has(element));
      if (changed) drop(stale.length);
      portion(SCREEN, BUDGET);
    },
  };
}
