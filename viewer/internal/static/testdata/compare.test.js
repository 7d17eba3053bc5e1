// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { compareView, sideNames, swapped } = await import('../compare.js');
const { differences, measures } = await import('../difftable.js');

const left = { unit: 'nanoseconds', total: 600e6, ofSpans: 3, samples: 60, windows: 1, profiledNs: 10e9, from: '2026-11-01T12:00:00Z', until: '2026-11-01T12:00:10Z' };
const right = { unit: 'nanoseconds', total: 100e6, ofSpans: 1, samples: 10, span: { start: '2026-11-01T12:00:01.25Z' } };
const diff = [{ name: 'main.a', leftTotal: 300e6, rightTotal: 90e6, leftSelf: 0, rightSelf: 5e6 }, { name: 'main.b', leftTotal: 300e6, rightTotal: 10e6, leftSelf: 60e6, rightSelf: 20e6 }];
const keys = (data) => measures(data).map(([key]) => key);

test('what a function takes more for each span is not what its share is', () => {
  const data = { left, right, diff };
  const [[, , share], [, , span]] = measures(data);
  assert.deepEqual(differences(data, share, 'total').map((d) => [d.name, Math.round(100 * d.delta)]), [['main.a', 40], ['main.b', -40]]);
  assert.deepEqual(differences(data, span, 'total').map((d) => [d.name, d.delta]), [['main.b', -90e6], ['main.a', -10e6]]);
  assert.deepEqual(differences(data, span, 'self').map((d) => [d.name, d.left, d.right, d.delta]), [['main.a', 0, 5e6, 5e6]]);
  assert.equal(span.change(-90e6), '\u221290.0 ms');
  assert.equal(span.change(5e6), '+5.00 ms');
});

test('a measure is offered where both sides have it', () => {
  assert.deepEqual(keys({ left, right }), ['share', 'span']);
  assert.deepEqual(keys({ left: { ...left, ofSpans: undefined }, right }), ['share']);
  assert.deepEqual(keys({ left, right: left }), ['share', 'span', 'second']);
  assert.deepEqual(keys({ left: { ...left, profiledNs: undefined }, right: left }), ['share', 'span']);
  assert.deepEqual(keys({ left: { ...left, unit: 'bytes', ofSpans: undefined, profiledNs: undefined }, right: left }), ['share']);
  const second = measures({ left, right: left })[2][2];
  assert.equal(second.show(left.total / second.each(left)), '60.0 ms');
});

test('sides are called what they are', () => {
  assert.deepEqual(sideNames({ left, right, leftName: 'all 3 spans of this name', rightName: 'GET /' }), ['All 3 spans of this name', 'GET / at 12:00:01.250']);
  assert.deepEqual(sideNames({ left: { ...left, title: 'shop version v1' }, right, leftName: 'shop version v1', rightName: 'this span' }), ['shop version v1', 'This span at 12:00:01.250']);
  const later = { ...left, from: '2026-11-01T13:00:00Z', until: '2026-11-01T13:00:10Z' };
  assert.deepEqual(sideNames({ left, right: later, leftName: 'GET /', rightName: 'GET /' }), ['GET /, 2026-11-01 12:00:00 \u2013 2026-11-01 12:00:10', 'GET /, 2026-11-01 13:00:00 \u2013 2026-11-01 13:00:10']);
});

test('with its side goes all that the address has of it; the only graph keeps its own', () => {
  const address = 'leftQuery=a&rightQuery=b&leftFrom=1&zoom=z&leftSearch=s&per=span';
  const swap = (both) => Object.fromEntries(swapped(new URLSearchParams(address), both));
  assert.deepEqual(swap(true), { leftQuery: 'b', rightQuery: 'a', rightFrom: '1', leftZoom: 'z', search: 's', per: 'span' });
  // The left side's would be that of the other one from now on.
  assert.deepEqual(swap(false), { leftQuery: 'b', rightQuery: 'a', rightFrom: '1', zoom: 'z', per: 'span' });
});

// shown returns the graphs of a comparison at an address, and what they ask the server for.
async function shown(name, address) {
  const asked = [];
  Object.assign(globalThis, {
    location: { search: address },
    history: { replaceState() {} },
    ResizeObserver: class { observe() {} },
    requestAnimationFrame() {},
    getComputedStyle: () => ({ getPropertyValue: () => '' }),
    fetch: async (to) => {
      asked.push(new URLSearchParams(to.slice(to.indexOf('?'))));
      const frame = { name: 'main.a', total: 6, self: 6 };
      return { ok: true, text: async () => JSON.stringify(asked.at(-1).get('zoom') ? { path: [{ name: 'total', total: 10 }], flame: frame } : { flame: { name: 'total', total: 10, children: [frame] } }) };
    },
  });
  document.documentElement = null;
  const flame = { name: 'total', total: 10, children: [{ name: 'main.a', total: 6, self: 6 }, { name: '(other)', total: 4, self: 4, frames: 2 }] };
  const of = (side, query) => ({ ...side, title: query, span: undefined, windows: 1, from: left.from, until: left.until, query, measure: 'CPU time', flame });
  const page = compareView({ left: of(left, 'a'), right: of(right, 'b'), leftName: 'a', rightName: 'b', diff: [] }, name);
  await later(0);
  return { graphs: page.children.filter((e) => e.getAttribute('class') === 'graph'), asked };
}

const later = (ms) => new Promise((done) => { setTimeout(done, ms); });
const zoom = 'a1a2a3a4a1a2a3a4';
const range = { from: '1793534400001', until: '1793534409998' };
const [leftTimes, rightTimes] = ['left', 'right'].map((side) => ({ [`${side}From`]: range.from, [`${side}Until`]: range.until }));

test('one graph asks for what it shows by then, not for what its address was opened with', async () => {
  const { graphs: [graph], asked } = await shown('comparison-diff', `?leftQuery=a&rightQuery=b&zoom=${zoom}&search=main&leftSearch=s&leftZoom=z&per=span&sort=self`);
  const sides = { of: 'right', leftQuery: 'a', rightQuery: 'b', ...leftTimes, ...rightTimes, format: 'json' };
  assert.deepEqual(asked.splice(0).map((p) => Object.fromEntries(p)), [{ ...sides, search: 'main' }, { ...sides, search: 'main', zoom }]);
  const [search, , , , reset] = graph.children[0].children;
  reset.listeners.click[0]();
  search.value = 'other';
  search.listeners.input[0]();
  await later(300);
  assert.deepEqual(asked.map((p) => Object.fromEntries(p)).at(-1), { ...sides, search: 'other' });
  assert.ok(asked.every((p) => !p.has('zoom')));
});

test('two graphs ask for the windows that their sides were found in', async () => {
  const { asked } = await shown('comparison', '?leftQuery=a&rightQuery=b&search=main&leftSearch=other');
  assert.deepEqual(asked.map((p) => Object.fromEntries(p)), [
    { query: 'a', ...range, search: 'other', format: 'json' }, { query: 'b', ...range, search: 'main', format: 'json' }]);
});
