// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { link } from './api.js';
import { button, h } from './dom.js';

// copyButton copies what text() returns and says so.
export function copyButton(label, text, props) {
  const b = button(label, async () => {
    const done = await copy(text());
    b.textContent = done ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => { b.textContent = label; }, 1500);
  }, props);
  return b;
}

// copyPprof copies the command that opens a profile of this viewer.
export const copyPprof = (page, params) => copyButton('Copy go tool pprof', () => `go tool pprof '${new URL(link(page, params), location.href).href.replaceAll("'", '%27')}'`);

// copyLink copies an address that shows the same to others and later.
export const copyLink = (address) => copyButton('Copy link', () => new URL(address(), location.href).href);

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
