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

// choice is a row of options of which one is chosen; options are [key, text].
export function choice(name, options, chosen, onchange) {
  return h('fieldset', { class: 'choice' }, h('legend', { class: 'sr' }, name), options.map(([key, text]) =>
    h('label', null, h('input', { type: 'radio', name, value: key, checked: key === chosen, onchange: () => onchange(key) }), h('span', null, text))));
}

export const button = (text, onclick, props) => h('button', { type: 'button', onclick, ...props }, text);

export const linkButton = (text, href, props) => h('a', { class: 'button', href, ...props }, text);
