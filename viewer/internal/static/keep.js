// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// OWN are attributes that updates leave alone: what the user has opened stays open, and
// the page's policy forbids style attributes.
const OWN = ['open', 'style'];

// morph gives an element the attributes, texts and children of a fresh one. Elements in
// both stay: one that has the focus, or that the user clicks on or types in, must not be
// replaced. Listeners are not copied.
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
function arrange(list, elements) {
  const focused = document.activeElement;
  const wanted = new Set(elements);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  let at = list.firstChild;
  for (const element of elements) {
    if (at === element) at = at.nextSibling;
    else list.insertBefore(element, at);
  }
  // An element that is moved loses the focus.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

// refill gives a list fresh children, each with a data-key. Children with the same key are
// kept.
export function refill(list, fresh) {
  const known = new Map([...list.children].map((child) => [child.dataset.key, child]));
  arrange(list, fresh.map((child) => {
    const old = known.get(child.dataset.key);
    if (!old) return child;
    morph(old, child);
    return old;
  }));
}
