// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// A document that has as much as the tests need: elements with attributes, children and
// listeners.
class FakeNode {
  constructor(nodeName) {
    Object.assign(this, { nodeName, childNodes: [], attributes: new Map(), listeners: {}, style: {}, parentNode: null, isConnected: false });
    const classes = new Set();
    this.classList = { toggle: (c, on) => (on ? classes.add(c) : classes.delete(c)), contains: (c) => classes.has(c) };
  }

  append(...children) {
    for (const child of children) {
      const node = child instanceof FakeNode ? child : Object.assign(new FakeNode('#text'), { data: String(child) });
      node.parentNode = this;
      this.childNodes.push(node);
    }
  }

  replaceChildren(...children) {
    this.childNodes = [];
    this.append(...children);
  }

  setAttribute(name, value) { this.attributes.set(name, String(value)); }

  getAttribute(name) { return this.attributes.get(name) ?? null; }

  addEventListener(kind, f) { (this.listeners[kind] ??= []).push(f); }

  get textContent() { return this.nodeName === '#text' ? this.data : this.childNodes.map((c) => c.textContent).join(''); }

  set textContent(text) { this.replaceChildren(text); }
}

// install makes the document and the window's listeners; it returns the latter by kind.
export function install() {
  const listeners = {};
  globalThis.document = { createElement: (name) => new FakeNode(name.toUpperCase()) };
  globalThis.addEventListener = (kind, f) => { (listeners[kind] ??= []).push(f); };
  globalThis.matchMedia = () => ({ addEventListener: (_, f) => { (listeners.theme ??= []).push(f); } });
  return listeners;
}
