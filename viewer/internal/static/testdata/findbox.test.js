// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { install } from './dom.js';

install();
globalThis.location = { search: '?from=5&order=cpu', href: '' };
const { findBox } = await import('../findbox.js');

const asked = [];
let answer = {};
globalThis.fetch = async (address) => {
  asked.push(address);
  return { ok: answer.status !== 400, text: async () => JSON.stringify(answer) };
};
const box = (remote) => {
  const did = [];
  const b = findBox({ filter: (text) => did.push(['filter', text]), conditions: (...more) => did.push(['conditions', ...more]), remote: () => remote });
  const fire = (kind, event = {}) => b.input.listeners[kind].forEach((f) => f(event));
  const write = (text) => { b.input.value = text; fire('input'); };
  return { ...b, did, fire, write };
};
const wait = (ms = 0) => new Promise((done) => { setTimeout(done, ms); });
// settled waits until the answer has been taken.
const settled = async (done) => { for (let i = 0; i < 1000 && !done(); i++) await wait(5); };

test('what is written filters a source at hand, and asks a remote one nothing', async () => {
  const near = box(false);
  near.write('sea');
  near.write('search ');
  await settled(() => near.did.length);
  assert.deepEqual(near.did, [['filter', 'search']]);
  const far = box(true);
  far.write('search');
  await wait(400);
  assert.deepEqual(far.did, []);
  assert.equal(asked.length, 0);
});

test('what is written before the first list comes filters it then', async () => {
  let remote;
  const did = [];
  const b = findBox({ filter: (text) => did.push(text), conditions() {}, remote: () => remote });
  b.input.value = 'search';
  b.input.listeners.input.forEach((f) => f({}));
  await wait(400);
  assert.deepEqual(did, []);
  remote = false;
  b.known();
  b.known();
  assert.deepEqual(did, ['search']);
});

test('Enter takes the one meaning of a text', async () => {
  answer = { meanings: [{ as: 'service', title: 'service shop', list: { service: 'shop' } }] };
  const b = box(true);
  b.input.value = ' shop ';
  b.fire('keydown', { key: 'Enter' });
  await settled(() => b.did.length);
  assert.deepEqual(b.did, [['conditions', { service: 'shop' }, true]]);
  assert.equal(asked.at(-1), './find?text=shop&from=5&format=json');
  assert.equal(b.told.textContent, 'Understood as service shop. ');
  assert.equal(b.input.value, '');

  answer = { meanings: [{ as: 'text', title: '3 spans with this: 3 in the name', list: { filter: 'sea' } }] };
  b.input.value = 'sea';
  b.fire('keydown', { key: 'Enter' });
  await settled(() => b.did.length > 1);
  assert.deepEqual(b.did[1], ['filter', 'sea']);

  answer = { meanings: [{ as: 'span', title: 'span GET / with the id 1', query: '.cpu{profile_id="1"}' }] };
  b.fire('keydown', { key: 'Enter' });
  await settled(() => location.href);
  assert.equal(location.href, './?query=.cpu%7Bprofile_id%3D%221%22%7D&from=5');

  answer = { meanings: [{ as: 'attribute', title: 'spans with a = 1', list: { attribute: 'a=1' } }] };
  b.fire('keydown', { key: 'Enter' });
  await settled(() => b.did.length > 2);
  assert.deepEqual(b.did[2], ['conditions', { attribute: 'a=1' }, false]);
});

test('a span of a source at hand is shown at its own time, a query at that of the page', async () => {
  for (const [as, href] of [['span', './?query=q'], ['query', './?query=q&from=5']]) {
    location.href = '';
    answer = { meanings: [{ as, title: as, query: 'q' }] };
    const b = box(false);
    b.input.value = 'q';
    b.fire('keydown', { key: 'Enter' });
    await settled(() => location.href);
    assert.equal(location.href, href);
  }
});

test('several meanings are to choose from, and none is said', async () => {
  answer = { meanings: [{ title: 'trace 1', list: { trace: '1' } }, { title: 'span 2', query: 'q' }], note: 'nothing is held of 3' };
  const b = box(false);
  b.input.value = '1 2 3';
  b.fire('keydown', { key: 'Enter' });
  await settled(() => b.told.textContent.includes('held'));
  assert.equal(b.told.textContent, 'Which one? trace 1span 2Nothing is held of 3.');
  answer = { meanings: [], note: 'no span has it' };
  b.fire('keydown', { key: 'Enter' });
  await settled(() => b.told.textContent === 'No span has it.');
  assert.equal(b.told.textContent, 'No span has it.');
  answer = { status: 400, error: 'flameql: column 3: expected' };
  b.fire('keydown', { key: 'Enter' });
  await settled(() => b.told.textContent.includes('column'));
  assert.equal(b.told.textContent, 'Flameql: column 3: expected.');
});

test('a line with ids is looked for as soon as it is pasted', async () => {
  answer = { meanings: [], note: 'done' };
  const b = box(false);
  const paste = (text) => {
    b.input.value = text;
    b.fire('paste', { clipboardData: { getData: () => text } });
    b.fire('input');
  };
  const before = asked.length;
  paste('msg=slow trace_id=0123456789abcdef0123456789ABCDEF');
  await settled(() => b.told.textContent === 'Done.');
  assert.equal(asked.length, before + 1);
  assert.deepEqual(b.did, []);
  paste('some words');
  await settled(() => b.did.length);
  assert.deepEqual(b.did, [['filter', 'some words']]);
  assert.equal(asked.length, before + 1);
});
