// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';
import { nested, started } from '../trace.js';

test('a start has parts of a millisecond', () => {
  assert.equal(started({ start: '2026-11-01T12:00:00.0005Z' }) - Date.parse('2026-11-01T12:00:00Z'), 0.5);
});

test('spans come after the one that they are below', () => {
  const at = (profileId, parentId, ms) => ({ profileId, parentId, start: `2026-11-01T12:00:00.${String(ms).padStart(3, '0')}Z` });
  const depths = (spans) => nested(spans).map(([s, depth]) => s.profileId + depth).join(' ');
  assert.equal(depths([at('b', 'a', 0), at('a', 'remote', 0), at('d', 'c', 3), at('c', 'a', 1), at('e', 'b', 2)]), 'a0 b1 e2 c1 d2');
  assert.equal(depths([at('a', 'b', 0), at('b', 'a', 1), at('c', 'c', 2)]), 'c0 a0 b1');
});
