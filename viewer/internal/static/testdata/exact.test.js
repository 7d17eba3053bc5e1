// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { did, exactView, frame, traceList } = await import('../trace.js');
globalThis.location = { search: '?from=5&view=time' };

const x = {
  start: '2026-11-01T12:00:00.0005Z', durationNs: 50e6, id: '1111111111111111', name: 'GET /checkout',
  goroutines: [{ id: 7, startNs: 0, endNs: 50e6, states: [{ state: 'running', durationNs: 10e6 }, { state: 'mutex', durationNs: 30e6 }, { state: 'runnable', durationNs: 1e6 }] },
    { id: 9, child: 'query', function: 'main.query.func1', startNs: 5e6, endNs: 20e6, states: [] }],
  holes: [{ reason: 'the trace does not tell', startNs: 40e6, durationNs: 10e6 }, { reason: 'the span ended elsewhere', startNs: 50e6, durationNs: 0 }],
  waits: [
    { state: 'mutex', durationNs: 30e6, count: 1, goroutine: 7, stack: [{ func: 'sync.(*Mutex).Lock', file: 'sync/mutex.go', line: 1 }, { func: 'shop/cart.(*Cache).get', file: 'shop/cart/cache.go', line: 5 }],
      ended: [{ func: 'shop/cart.refresh', file: 'shop/cart/cache.go', line: 9 }],
      blockers: [{ goroutine: 8, spanId: '2222222222222222', span: 'refresh cache', durationNs: 30e6, did: [{ state: 'sleep', durationNs: 20e6, child: 'load from disk' }, { state: 'running', durationNs: 10e6 }, { state: 'gc stop', durationNs: 1 }] },
        { goroutine: 10, function: 'main.f', durationNs: 1e6, did: [] }] },
    { state: 'sleep', durationNs: 1, count: 3, goroutine: 7 },
  ],
};
const data = { query: 'shop.cpu{profile_id="1111111111111111"}', span: { start: x.start, durationNs: 50e6, exactTimes: x } };

const all = (el, name) => [...(el.nodeName === name ? [el] : []), ...el.childNodes.flatMap((c) => all(c, name))];

test('a place is the innermost that is known', () => {
  assert.equal(frame(x.waits[0].stack).func, 'shop/cart.(*Cache).get');
  assert.equal(frame([{ func: 'runtime.gopark' }]).func, 'runtime.gopark');
  assert.equal(frame(undefined), undefined);
});

test('what a blocker did, without what is next to nothing', () => {
  assert.equal(did(x.waits[0].blockers[0].did), 'slept 20.0 ms in load from disk, ran 10.0 ms');
  assert.equal(did([]), '');
});

test('a wait leads to the span that ended it', () => {
  const view = exactView(data);
  const hrefs = all(view, 'A').map((a) => a.getAttribute('href'));
  const query = (id) => `query=shop.cpu%7Bprofile_id%3D%22${id}%22%7D`;
  assert.deepEqual(hrefs, [`./?${query('2222222222222222')}&view=time`, `./waits?${query('1111111111111111')}&from=5`]);
  for (const text of ['refresh cache', 'cache.go:5', 'goroutine 8', 'no span (f)', 'the span ended elsewhere', 'query \u00b7 goroutine 9', 'the span \u00b7 goroutine 7']) {
    assert.ok(view.textContent.includes(text), `${text} is missing in ${view.textContent}`);
  }
  assert.ok(!view.textContent.includes('other times'));
});

test('a span that was given other times says so', () => {
  const later = { ...data, span: { ...data.span, durationNs: 52e6 } };
  assert.ok(exactView(later).textContent.includes('the program gave the span other times'));
});

test('a span without waits, lists that are cut', () => {
  const bare = { ...x, waits: [], holes: undefined, open: true, omitted: true, goroutinesOmitted: 3 };
  const text = exactView({ ...data, span: { ...data.span, exactTimes: bare } }).textContent;
  for (const part of ['It waited for nothing', 'lists below are cut', 'and 3 goroutines more', 'ends before the span']) assert.ok(text.includes(part), part);
});

test('a span from before the recording is a hole alone', () => {
  const before = { ...x, goroutines: [], waits: [], holes: [{ reason: 'the span began before the recording', startNs: 0, durationNs: 50e6 }] };
  const text = exactView({ ...data, span: { ...data.span, exactTimes: before } }).textContent;
  for (const part of ['50.0 ms: the span began before the recording', 'Unknown']) assert.ok(text.includes(part), part);
  for (const not of ['waited for nothing', 'pprof']) assert.ok(!text.includes(not), not);
});

test('lanes say their states in words, and tables what their columns are', () => {
  const view = exactView(data);
  const lane = all(all(view, 'OL')[0], 'LI')[0];
  assert.equal(all(lane, 'SPAN').find((e) => e.getAttribute('class') === 'sr').textContent, ': running 10.0 ms, mutex 30.0 ms, runnable 1.00 ms');
  assert.ok(all(view, 'TH').length > 0);
  for (const head of all(view, 'TH')) assert.equal(head.getAttribute('scope'), 'col');
});

test('a source that finds no traces has no link to the graph of one', () => {
  const of = (profileId) => ({ profileId, traceId: 't', start: '2026-11-01T12:00:00Z', durationNs: 1e6, cpuSamples: 1, cpuNs: 1e6 });
  const textOf = (ranged) => traceList({ span: of('a'), trace: [of('a'), of('b')], traceSpans: 2, ranged }).textContent;
  assert.match(textOf(false), /whole trace/);
  assert.doesNotMatch(textOf(true), /whole trace/);
});
