// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// straight returns a text without characters that change its direction: they could make
// a name look like another one.
const straight = (text) => (typeof text === 'string' ? text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd') : text);

// h makes an element. Names from a program reach the page through h alone, as text nodes
// and attributes, never as markup.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value == null || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? '' : key === 'title' ? straight(value) : value);
  }
  el.append(...children.flat().filter((c) => c != null && c !== false).map(straight));
  return el;
}

// bar returns a horizontal bar that fills a share of its width. A share above 0 is always
// visible.
export function bar(share, cls) {
  const inside = h('i', { class: cls });
  fill(inside, share);
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, inside);
}

// fill changes the share of a bar. A share above 1 fades out.
export function fill(inside, share) {
  inside.style.width = share > 0 ? `max(2px, ${Math.min(share, 1) * 100}%)` : '0';
  inside.classList.toggle('over', share > 1);
}

// choice is a row of options, one of them chosen; options are [key, text].
export function choice(name, options, chosen, onchange) {
  return h('fieldset', { class: 'choice' }, h('legend', { class: 'sr' }, name), options.map(([key, text]) =>
    h('label', null, h('input', { type: 'radio', name, value: key, checked: key === chosen, onchange: () => onchange(key) }), h('span', null, text))));
}

export const button = (text, onclick, props) => h('button', { type: 'button', onclick, ...props }, text);

export function tiles(list) {
  return h('dl', { class: 'tiles' }, list.filter(Boolean).map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))));
}

export const linkButton = (text, href, props) => h('a', { class: 'button', href, ...props }, text);

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

// Views are replaced while the window stays. A listener of a view would keep it for ever. So the
// window has one listener for each kind of event. It passes events on to elements of the page.
const handlers = new WeakMap(); // by element: [[kind, function], ...]
let followers = []; // WeakRefs of the elements
for (const kind of ['scroll', 'popstate', 'beforeprint', 'afterprint']) globalThis.addEventListener?.(kind, () => pass(kind), { passive: true });
globalThis.matchMedia?.('(prefers-color-scheme: dark)').addEventListener('change', () => pass('theme'));

// follow calls f at each event of a kind while the element is on the page.
export function follow(element, kind, f) {
  if (!handlers.has(element)) followers = [...followers.filter((ref) => ref.deref()), new WeakRef(element)];
  handlers.set(element, [...handlers.get(element) ?? [], [kind, f]]);
}

function pass(kind) {
  // On paper the page is light, and views paint it so.
  if (kind.endsWith('print')) document.documentElement?.classList.toggle('printing', kind === 'beforeprint');
  for (const element of followers.map((ref) => ref.deref())) if (element?.isConnected) for (const [of, f] of handlers.get(element)) if (of === kind) f();
}

const resized = new WeakMap(); // by element: what follows its size
let sizes;

// followSize calls f when an element that is on the page, or is put there now, has another size.
// An observer of its own would keep an element for good.
export function followSize(element, f) {
  if (resized.has(element)) return;
  sizes ??= new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.isConnected) resized.get(target)?.();
      else {
        sizes.unobserve(target);
        resized.delete(target);
      }
    }
  });
  resized.set(element, f);
  sizes.observe(element);
}

// copyButton copies the result of text().
export function copyButton(label, text, props) {
  const b = button(label, async () => {
    const done = await copy(text());
    b.textContent = done ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => { b.textContent = label; }, 1500);
  }, props);
  return b;
}

// LOOPBACK are the hosts that mean the machine of the reader.
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

// copyLink copies an address that shows the same later, and to others if they can reach this
// host.
export function copyLink(address) {
  const note = h('span', { class: 'muted', role: 'status' });
  const warn = () => { note.textContent = LOOPBACK.test(location.hostname) ? `${location.hostname} means this machine: others need a tunnel to it, or the downloaded page.` : ''; };
  const b = copyButton('Copy link', () => new URL(address(), location.href).href);
  b.addEventListener('click', warn);
  return h('span', { class: 'copied' }, b, note);
}

async function copy(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* Not allowed: select the text instead. */ }
  }
  // The clipboard is there for https and loopback names only.
  const area = h('textarea', { class: 'hidden', readonly: true, 'aria-label': 'Text to copy' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  if (done) area.remove();
  else area.addEventListener('blur', () => area.remove());
  return done;
}
