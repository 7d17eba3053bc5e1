// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// OWN are attributes that a fresh element does not decide: what the user has
// opened stays open, and the page's policy allows no style as an attribute.
const OWN = ['open', 'style'];

// morph gives an element the attributes, the texts and the children of a fresh
// one. What is in both stays the same: an element that has the focus, or is being
// clicked on or written in, must not be replaced under the hand. Listeners are not
// taken over.
export function morph(old, fresh) {
  if (old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!OWN.includes(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (!OWN.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((child, i) => (before[i] ? morph(before[i], child) : old.append(child)));
  for (const child of before.slice(after.length)) child.remove();
}

// arrange makes elements the children of a list, in this order, and moves as few
// as it can.
export function arrange(list, elements) {
  const focused = document.activeElement;
  const wanted = new Set(elements);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  let at = list.firstChild;
  for (const element of elements) {
    if (at === element) at = at.nextSibling;
    else list.insertBefore(element, at);
  }
  // What is moved loses the focus.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

// refill gives a list fresh children, each of which has a data-key. Those that it
// has already are kept.
export function refill(list, fresh) {
  const known = new Map([...list.children].map((child) => [child.dataset.key, child]));
  arrange(list, fresh.map((child) => {
    const old = known.get(child.dataset.key);
    if (!old) return child;
    morph(old, child);
    return old;
  }));
}
