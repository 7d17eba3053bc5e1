// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// h makes an element. What a program named reaches the page through here only,
// as text nodes and attributes: never as markup.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value == null || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? '' : value);
  }
  el.append(...children.flat().filter((c) => c != null && c !== false));
  return el;
}

// bar is a horizontal bar that is share of its place wide. A share above 0 is
// always visible.
export function bar(share, cls) {
  const fill = h('i', { class: cls });
  fill.style.width = share > 0 ? `max(2px, ${Math.min(share, 1) * 100}%)` : '0';
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
}

// copyButton copies what text() returns and says so.
export function copyButton(label, text, props) {
  const button = h('button', { type: 'button', ...props, onclick: async () => {
    const done = await copy(text());
    button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => { button.textContent = label; }, 1500);
  } }, label);
  return button;
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

// rawQuery is the parameters of the page's address but for those named, as they
// were written: what a server cannot read is its to refuse, not for a browser's
// more lenient reading to hide.
export const rawQuery = (...names) => location.search.slice(1).split('&').filter((p) => p && !names.includes(p.split('=')[0]));

// link is an address of this viewer, relative to where it is mounted.
export function link(page, params) {
  const query = new URLSearchParams(params).toString();
  return `./${page}${query ? `?${query}` : ''}`;
}
