// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
globalThis.location = { search: '', pathname: '/' };
const { sandwichView } = await import('../functions.js');

const settled = () => new Promise((done) => { setTimeout(done, 10); });

test('what has no callers to show is not busy for ever', async () => {
  for (const [answer, text] of [
    [new Response('{"error":"out of turn"}', { status: 503 }), 'Out of turn.'],
    [new Response('{"focus":{"function":{"name":"main.gone","total":0}}}'), 'No stack of this profile has a function main.gone.'],
  ]) {
    globalThis.fetch = async () => answer;
    const place = sandwichView({}, 'main.gone');
    assert.equal(place.getAttribute('aria-busy'), 'true');
    for (let i = 0; i < 500 && place.textContent !== text; i++) await settled();
    await settled();
    assert.equal(place.textContent, text);
    assert.equal(place.getAttribute('aria-busy'), null);
  }
});
