// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { graphOf, install } from './dom.js';

const listeners = install();
const observers = new Set();
Object.assign(globalThis, {
  location: { search: '?query=.cpu', pathname: '/', href: 'http://page/' },
  history: { pushState(state, title, to) { location.search = to; } },
  requestAnimationFrame() {},
  setInterval() {},
  getComputedStyle: () => ({ getPropertyValue: () => '' }),
  ResizeObserver: class {
    constructor(f) { this.changed = () => f([], this); }

    observe(element) { observers.add(Object.assign(this, { element })); }

    disconnect() { observers.delete(this); }
  },
});
const { profileView } = await import('../profile.js');

const kind = (type) => ({ type, label: type, measure: type, query: `.${type}`, samples: 10 });
const span = { profileId: 'a', name: 'GET /', start: '2026-11-01T12:00:00Z', durationNs: 1e9, cpuSamples: 1, cpuNs: 1e7, wallNs: 0, wallSamples: 0, running: true, service: 'shop' };
const data = (samples, more) => ({ title: 'GET /', query: '.cpu', sampleType: 'cpu', measure: 'CPU time', unit: 'nanoseconds', total: samples * 1e7, samples, windows: 1, from: span.start, until: span.start, kinds: [kind('cpu'), kind('wall')], flame: graphOf('0 total 0 10', '1 main.work 10 10'), span, ...more });

// all are an element and those in it.
const all = (element) => [element, ...element.children.flatMap(all)];

// leaves tells the page of elements that are not on it any more.
const leaves = () => [...observers].forEach((observer) => observer.changed());

test('polls and switches of the tab leave nothing behind', () => {
  for (const empty of [undefined, 'no sample yet']) {
    const view = profileView(data(10, { empty, waiting: Boolean(empty) }));
    for (let i = 0; i < 20; i++) {
      view.update(data(11 + i, { empty }));
      location.search = i % 2 ? '?query=.cpu' : '?query=.cpu&view=functions';
      document.querySelectorAll = () => all(view.element).filter((e) => e.hasAttribute('data-follows'));
      listeners.popstate[0]();
    }
    const here = new Set(all(view.element));
    for (const e of here) e.isConnected = true;
    leaves();
    assert.deepEqual([...observers].filter((o) => !here.has(o.element)).map((o) => o.element.getAttribute('class')), []);
    for (const e of here) e.isConnected = false;
    leaves();
    assert.equal(observers.size, 0);
  }
});
