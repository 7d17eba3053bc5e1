// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// A document that has as much as the tests need: elements with attributes, children and
// listeners.
class FakeNode {
  constructor(nodeName) {
    Object.assign(this, { nodeName, nodeType: nodeName === '#text' ? 3 : 1, childNodes: [], values: new Map(), listeners: {}, style: {}, parentNode: null, isConnected: false });
    const classes = new Set();
    this.classList = { toggle: (c, on) => (on ? classes.add(c) : classes.delete(c)), contains: (c) => classes.has(c) };
  }

  append(...children) {
    for (const child of children) {
      const node = child instanceof FakeNode ? child : Object.assign(new FakeNode('#text'), { data: String(child) });
      node.remove();
      node.parentNode = this;
      this.childNodes.push(node);
    }
  }

  replaceChildren(...children) {
    for (const child of [...this.childNodes]) child.remove();
    this.append(...children);
  }

  // querySelectorAll takes selectors of one class or one element.
  querySelectorAll(selector) {
    const hit = (c) => (selector[0] === '.' ? (c.getAttribute('class') ?? '').split(' ').includes(selector.slice(1)) : c.nodeName === selector.toUpperCase());
    return this.children.flatMap((c) => [...(hit(c) ? [c] : []), ...c.querySelectorAll(selector)]);
  }

  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }

  get children() { return this.childNodes.filter((c) => c.nodeName !== '#text'); }

  get nextElementSibling() {
    const all = this.parentNode.children;
    return all[all.indexOf(this) + 1] ?? null;
  }

  insertBefore(node, at) {
    node.remove();
    this.childNodes.splice(at ? this.childNodes.indexOf(at) : this.childNodes.length, 0, node);
    node.parentNode = this;
  }

  get firstElementChild() { return this.children[0] ?? null; }

  get firstChild() { return this.childNodes[0] ?? null; }

  get nextSibling() {
    const all = this.parentNode.childNodes;
    return all[all.indexOf(this) + 1] ?? null;
  }

  replaceWith(node) {
    this.parentNode.insertBefore(node, this);
    this.remove();
  }

  // As in a browser, what is taken out, or moved, loses the focus.
  remove() {
    if (document.activeElement === this) document.activeElement = null;
    if (this.parentNode) this.parentNode.childNodes = this.parentNode.childNodes.filter((c) => c !== this);
    this.parentNode = null;
  }

  focus() { document.activeElement = this; }

  get attributes() { return [...this.values].map(([name, value]) => ({ name, value })); }

  setAttribute(name, value) { this.values.set(name, String(value)); }

  hasAttribute(name) { return this.values.has(name); }

  removeAttribute(name) { this.values.delete(name); }

  getAttribute(name) { return this.values.get(name) ?? null; }

  get dataset() { return Object.fromEntries([...this.values].filter(([name]) => name.startsWith('data-')).map(([name, v]) => [name.slice(5), v])); }

  addEventListener(kind, f) { (this.listeners[kind] ??= []).push(f); }

  dispatchEvent(event) { for (const f of this.listeners[event.type] ?? []) f(event); }

  get textContent() { return this.nodeName === '#text' ? this.data : this.childNodes.map((c) => c.textContent).join(''); }

  set textContent(text) { this.replaceChildren(text); }
}

// install makes the document and the window's listeners; it returns the latter by kind.
export function install() {
  const listeners = {};
  globalThis.Node = { TEXT_NODE: 3 };
  const top = Object.fromEntries(['alert', 'status', 'main', 'service'].map((id) => [id, new FakeNode('DIV')]));
  globalThis.document = { activeElement: null, documentElement: null, createElement: (name) => new FakeNode(name.toUpperCase()), getElementById: (id) => top[id] ?? null };
  globalThis.location ??= { search: '', pathname: '/', href: 'http://page/', hostname: 'page' };
  globalThis.history ??= { replaceState(state, title, to) { location.search = to; }, pushState(state, title, to) { location.search = to; } };
  globalThis.ResizeObserver ??= class { observe() {} };
  globalThis.requestAnimationFrame ??= () => {};
  globalThis.getComputedStyle ??= () => ({ getPropertyValue: () => '' });
  globalThis.setInterval = () => {}; // It would keep node running.
  globalThis.addEventListener = (kind, f) => { (listeners[kind] ??= []).push(f); };
  globalThis.matchMedia = () => ({ addEventListener: (_, f) => { (listeners.theme ??= []).push(f); } });
  return listeners;
}

// graphOf returns the arrays of a graph: lines of "depth name self total".
export function graphOf(...lines) {
  const texts = [''];
  const text = (t) => (texts.includes(t) ? texts.indexOf(t) : texts.push(t) - 1);
  const f = { name: [], file: [], package: [], source: [], line: [], self: [], total: [], lines: [] };
  const g = { texts, functions: f, function: [], parent: [], self: [], total: [] };
  const last = [];
  lines.forEach((line, i) => {
    const [depth, name, self, total] = line.split(' ');
    let fn = f.name.indexOf(text(name));
    if (i === 0) fn = -1;
    else if (fn < 0) {
      fn = f.name.length;
      for (const [key, v] of Object.entries({ name: text(name), file: text(`/src/${name}.go`), package: name.includes('.') ? 0 : text('asm/pkg'), source: text(`https://git/${name}.go#L{line}`), line: 1, self: 0, total: 0, lines: [] })) f[key].push(v);
    }
    if (fn >= 0) {
      f.self[fn] += Number(self);
      f.total[fn] += Number(total);
      f.lines[fn] = [7, f.self[fn], f.total[fn], 9, 0, 1];
    }
    g.function.push(fn);
    g.parent.push(i === 0 ? 1 : i - last[depth - 1]);
    g.self.push(Number(self));
    g.total.push(Number(total));
    last[depth] = i;
  });
  return g;
}
