// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { restRow, unfolding } = await import('../children.js');

// unfold returns what is below a span when it is unfolded and the server has given spans.
async function unfold(s, spans) {
  globalThis.fetch = async () => new Response(JSON.stringify({ spans }));
  let folded;
  await new Promise((done) => {
    folded = unfolding(done);
    folded.toggle(s).listeners.click[0]();
  });
  return folded;
}

const span = (profileId, parentId, start) => ({ profileId, parentId, start: `2026-01-02T03:04:05.${start}Z` });

test('each span is below its own parent, also those of the same millisecond', async () => {
  const folded = await unfold({ profileId: 'top', below: 5 }, [
    span('second', 'top', '000200'), span('of second', 'second', '000300'), span('of first', 'first', '000400'), span('first', 'top', '000100'), span('lost', 'not here', '000500')]);
  assert.deepEqual(folded.below({ profileId: 'top', below: 5 }).map((s) => [s.profileId, s.depth]),
    [['first', 1], ['of first', 2], ['second', 1], ['of second', 2], ['lost', 1]]);
  assert.equal(folded.rest({ profileId: 'top', below: 5 }), 0);
});

test('a row says how many spans are not shown', async () => {
  const s = { profileId: 'top', below: 1250 };
  const folded = await unfold(s, Array.from({ length: 200 }, (_, i) => span(`${i}`, 'top', String(100000 + i))));
  assert.equal(folded.below(s).length, 200);
  assert.equal(folded.rest(s), 1050);
  const row = restRow(s, 1050);
  assert.equal(row.textContent, 'and 1,050 more spans below it');
  assert.equal(row.childNodes[0].childNodes[0].childNodes[0].getAttribute('href'), './?below=top');
  assert.equal(folded.rest({ profileId: 'another', below: 300 }), 0);
});
