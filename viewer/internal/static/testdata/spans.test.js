// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { listed, understood } = await import('../spans.js');
const { differing, restRow, spanRow, unfolding } = await import('../span.js');
const { h } = await import('../dom.js');

test('a text is an id, a query, an attribute, or a part of a name', () => {
  const query = (text) => new URLSearchParams(understood(text)?.href?.slice(2)).get('query');
  assert.equal(query('00000000000000A1'), '.cpu{profile_id="00000000000000a1"}');
  assert.equal(query('level=info trace_id=010000000000000000000000000000a2 span_id=00000000000000a1'), '.cpu{profile_id="00000000000000a1"}');
  assert.equal(query('shop.cpu{span_name="GET /"}'), 'shop.cpu{span_name="GET /"}');
  assert.deepEqual(understood('trace 010000000000000000000000000000a2').list, { trace: '010000000000000000000000000000a2' });
  assert.deepEqual(understood('http.route=/cart').list, { attribute: 'http.route=/cart' });
  for (const text of ['GET /search', 'card declined', '1234', 'a = b']) assert.equal(understood(text), null);
});

test('a row has the attributes in which it differs', () => {
  const span = (profileId, name, attributes, more) => ({ profileId, name, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })), ...more });
  const of = differing([span('a', 'GET', { status: '200', q: 'x' }), span('b', 'GET', { status: '200', q: 'y', error: 'e' }), span('c', 'GET', { q: 'z' }, { running: true }), span('d', 'POST', { status: '200' })]);
  assert.deepEqual(['a', 'b', 'c', 'd'].map((id) => of.get(id).map((a) => `${a.key}=${a.value}`).join()), ['q=x', 'q=y,error=e', 'q=z', 'status=200']);
});

test('the graph of a list has its traces, or its spans with samples', () => {
  assert.deepEqual(listed([{ profileId: 'a', samplesHeld: 1, cpuSamples: 1 }, { profileId: 'b', samplesHeld: 0, cpuSamples: 1 }]), { n: 1, all: 1, query: '.cpu{profile_id=~"a"}' });
  assert.deepEqual(listed([{ profileId: 'a', traceId: 't', below: 1 }, { profileId: 'b', traceId: 't' }]), { n: 1, all: 1, query: '.cpu{trace_id=~"t"}' });
});

const s = { profileId: 'a', name: 'GET /', start: '2026-01-02T03:04:05.000Z', durationNs: 1e9, complete: true, coverage: 'whole', cpuNs: 0, cpuInclusiveNs: 0, cpuSamples: 0 };

test('a row: its dot, its error, and the place of its link', () => {
  const row = (more, toggle = null) => spanRow({ ...s, ...more }, { toggle, now: 0, most: 1 });
  assert.equal(row({}).querySelector('.dot').getAttribute('title'), null);
  assert.ok(row({ samplesHeld: 1 }).querySelector('.full'));
  // Updates keep elements by their places: a link that moved would lose the focus.
  const place = (element) => element.querySelector('.what').childNodes.findIndex((c) => c.getAttribute('data-id') === 'a');
  assert.equal(place(row({})), place(row({}, h('button'))));
  assert.equal(row({ err: true, status: 'card \u202edeclined' }).querySelector('.failed').textContent, 'card \ufffddeclined');
  assert.equal(row({ err: true, status: '' }).querySelector('.failed'), null);
  assert.deepEqual([row({ kind: 'client' }).querySelector('.kind').textContent, row({}).querySelector('.kind')], ['client', null]);
});

const span = (profileId, parentId, start) => ({ profileId, parentId, start: `2026-01-02T03:04:05.${start}Z` });

// unfold returns the spans below another one, as the server has them.
async function unfold(of, spans) {
  globalThis.fetch = async () => new Response(JSON.stringify({ spans }));
  let folded;
  await new Promise((done) => {
    folded = unfolding(done);
    folded.toggle(of).listeners.click[0]();
  });
  return folded;
}

test('each span is below its own parent, also those of the same millisecond', async () => {
  const folded = await unfold({ profileId: 'top', below: 5 }, [
    span('second', 'top', '000200'), span('of second', 'second', '000300'), span('of first', 'first', '000400'), span('first', 'top', '000100'), span('lost', 'not here', '000500')]);
  assert.deepEqual(folded.below({ profileId: 'top', below: 5 }).map((c) => [c.profileId, c.depth]),
    [['first', 1], ['of first', 2], ['second', 1], ['of second', 2], ['lost', 1]]);
});

test('a row counts the spans that are not shown', async () => {
  const folded = await unfold({ profileId: 'top', below: 1250 }, Array.from({ length: 200 }, (_, i) => span(`${i}`, 'top', String(100000 + i))));
  assert.equal(folded.rest({ profileId: 'top', below: 1250 }), 1050);
  assert.equal(restRow({ profileId: 'top' }, 1050).textContent, 'and 1,050 more spans below it');
});
