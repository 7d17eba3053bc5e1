// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
const { runningView } = await import('../running.js');

test('leaks are found at a click, unless the program lacks something', async () => {
  const view = runningView();
  const button = view.element.querySelector('button');
  view.update({ roots: [], note: 'a note', leaksLack: 'Go 1.27 finds leaks.' });
  assert.equal(button.hidden, true);
  assert.match(view.element.textContent, /Go 1\.27 finds leaks\./);

  const asked = [];
  const answer = (body, ok) => { globalThis.fetch = async (address, { method }) => (asked.push(`${method} ${address}`), { ok, status: ok ? 200 : 503, text: async () => JSON.stringify(body) }); };
  view.update({ roots: [], note: 'a note' });
  assert.deepEqual([button.hidden, asked], [false, []]);
  answer({ names: [{ name: 'GET /report', goroutines: 3, query: '.cpu', stacks: [{ goroutines: 3, frames: ['main.wait  main.go:7'] }] }], note: 'why' }, true);
  const click = () => button.listeners.click[0]();
  await click();
  assert.deepEqual([asked, button.disabled], [['POST ./leaks?format=json'], false]);
  assert.match(view.element.textContent, /GET \/report\s*leaked 3 goroutines.*main\.wait/);
  answer({ error: 'leaked goroutines: busy' }, false);
  await click();
  assert.match(view.element.textContent, /leaked goroutines: busy/i);
});
