// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { lacks } from './api.js';
import { sentence } from './format.js';

// straight returns a text without characters that change its direction: they could make
// a name look like another one.
const straight = (text) => (typeof text === 'string' ? text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd') : text);

// h makes an element. Names from a program become text nodes and attributes here, never markup.
// A frozen page has no link to what it lacks.
export function h(tag, props, ...children) {
  if (tag === 'a' && props?.href && lacks(props.href)) return h('span', { class: props.class, title: props.title, hidden: props.class?.startsWith('button') }, ...children);
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value == null || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? '' : key === 'title' ? straight(value) : value);
  }
  el.append(...children.flat().filter((c) => c != null && c !== false).map(straight));
  return el;
}

// bar returns a horizontal bar. A share above 0 is always visible, one above 1 fades out.
export function bar(share, cls) {
  const inside = h('i', { class: share > 1 ? `${cls} over` : cls });
  inside.style.width = share > 0 ? `max(2px, ${Math.min(share, 1) * 100}%)` : '0';
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, inside);
}

// swatch is a spot of a colour(dark), by day and by night.
export function swatch(colour) {
  const spot = h('i');
  spot.style.background = `light-dark(${colour(false)}, ${colour(true)})`;
  return spot;
}

// choice is a row of options, one of them chosen; options are [key, text].
export function choice(name, options, chosen, onchange) {
  return h('fieldset', { class: 'choice' }, h('legend', { class: 'sr' }, name), options.map(([key, text]) =>
    h('label', null, h('input', { type: 'radio', name, value: key, checked: key === chosen, onchange: () => onchange(key) }), h('span', null, text))));
}

export const button = (text, onclick, props) => h('button', { type: 'button', onclick, ...props }, text);
export const linkButton = (text, href, props) => h('a', { class: 'button', href, ...props }, text);

export function tiles(list) {
  return h('dl', { class: 'tiles' }, list.filter(Boolean).map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))));
}

// showNote shows a text, or hides its element without one.
export function showNote(element, text) {
  element.hidden = !text;
  element.textContent = text ? sentence(text) : '';
}

// OWN are attributes that updates leave alone: what the user has opened, and style (by the policy).
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

// refill gives a list fresh children. Children with the same data-key are kept, and few are moved.
export function refill(list, fresh) {
  const focused = document.activeElement;
  const known = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const elements = fresh.map((child) => {
    const old = known.get(child.dataset.key);
    if (!old) return child;
    morph(old, child);
    return old;
  });
  const wanted = new Set(elements);
  for (const child of known.values()) if (!wanted.has(child)) child.remove();
  let at = list.firstChild;
  for (const element of elements) {
    if (at === element) at = at.nextSibling;
    else list.insertBefore(element, at);
  }
  // An element that is moved loses the focus.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

// A listener of a view on the window would keep the view for ever: the window passes its events on
// to the elements of the page that follow them.
const pass = (kind) => document.querySelectorAll(`[data-follows~=${kind}]`).forEach((e) => e.dispatchEvent(new Event(kind)));
for (const kind of ['scroll', 'popstate']) globalThis.addEventListener?.(kind, () => pass(kind), { passive: true });
globalThis.matchMedia?.('(prefers-color-scheme: dark)').addEventListener('change', () => pass('theme'));

// follow calls f at each event of a kind while the element is on the page.
export function follow(element, kind, f) {
  element.setAttribute('data-follows', `${element.getAttribute('data-follows') ?? ''} ${kind}`);
  element.addEventListener(kind, f);
}

// followSize calls f when an element of the page has another size, until it is taken off.
export function followSize(element, f) {
  new ResizeObserver((_, observer) => (element.isConnected ? f() : observer.disconnect())).observe(element);
}

// placeTip shows a tip beside a place in the window.
export function placeTip(tip, x, y) {
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}

// copyButton copies the result of text(). The clipboard is there for https and loopback names only.
export function copyButton(label, text, props) {
  const b = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      b.textContent = 'Copied';
      setTimeout(() => { b.textContent = label; }, 1500);
    } catch {
      prompt(label, text());
    }
  }, props);
  return b;
}

// LOOPBACK are the hosts that mean the machine of the reader.
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

// copyLink copies an address that shows the same later.
export function copyLink(address) {
  const note = h('span', { class: 'muted', role: 'status' });
  const b = copyButton('Copy link', () => new URL(address(), location.href).href);
  if (LOOPBACK.test(location.hostname)) b.addEventListener('click', () => { note.textContent = `${location.hostname} means this machine: others need a tunnel to it, or the downloaded page.`; });
  return h('span', { class: 'copied' }, b, note);
}
