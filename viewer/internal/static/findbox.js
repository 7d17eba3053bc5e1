// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

import { get, link, range } from './api.js';
import { h } from './dom.js';
import { sentence } from './format.js';

// SURE is what a text that is pasted is looked for at once: ids, and queries.
const SURE = /\b([0-9a-f]{32}|[0-9a-f]{16})\b|\{[^]*[=!]/i;

// FOUND are the meanings that are looked for among all spans: other conditions of the list,
// such as its time, may leave nothing of what was found.
const FOUND = ['trace', 'name', 'service'];

// findBox is the one box: what is written filters the list at once, Enter asks the server what
// it is. filter is called with a part of names, errors or attributes, conditions with others
// of a list: {key: value}, and whether these are all that the list is to have. remote says that the source is not asked at each key, undefined that
// nobody knows yet.
export function findBox({ filter, conditions, remote }) {
  let typing;
  let asked = 0;
  let waiting = false; // for remote, to filter
  // Screen readers read what comes into an element that is there: it is never hidden.
  const told = h('div', { class: 'told', role: 'status' });
  const tell = (...children) => told.replaceChildren(...children);
  const input = h('input', { type: 'search', placeholder: 'Id, name, attribute, error or query  ( / )', title: 'Enter finds what it is: ids of spans and traces, a line of a log with some, a service, a name, key=value, a part of an error, or a FlameQL query',
    'aria-label': 'Find spans: filters while you write, Enter takes it for an id, a line of a log, a service, a name, an attribute, an error text or a query', 'data-search': '', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
    oninput: () => {
      clearTimeout(typing);
      asked++;
      tell();
      typing = setTimeout(live, 150);
    },
    onpaste: (e) => {
      if (!SURE.test(e.clipboardData?.getData('text') ?? '')) return;
      // The text is in the box after this event.
      setTimeout(find);
    },
    onkeydown: (e) => {
      if (e.key === 'Enter') find();
    } });

  // live filters while the user writes, once it is known that the source is at hand.
  function live() {
    waiting = remote() === undefined;
    if (remote() === false) filter(input.value.trim());
  }

  async function find() {
    const text = input.value.trim();
    clearTimeout(typing);
    waiting = false;
    if (!text) {
      tell();
      filter('');
      return;
    }
    const mine = ++asked;
    tell('Looking \u2026');
    let answer;
    try {
      answer = await get(link('find', { text, ...range(), format: 'json' }));
    } catch (err) {
      if (mine === asked) tell(h('span', { class: 'bad' }, sentence(err.message)));
      return;
    }
    if (mine !== asked) return;
    const { meanings } = answer;
    const note = answer.note && h('span', { class: 'muted' }, sentence(answer.note));
    if (meanings.length === 1) take(meanings[0], note);
    else tell(...(meanings.length ? ['Which one? ', h('ul', null, meanings.map((m) => h('li', null, h('a', { href: address(m) }, m.title))))] : []), ...(note ? [note] : []));
  }

  function take(m, note) {
    if (m.query) {
      tell(`Going to the ${m.title} \u2026`);
      location.href = address(m);
      return;
    }
    const { filter: part, ...others } = m.list;
    if (part) filter(part);
    else {
      input.value = '';
      conditions(others, FOUND.includes(m.as));
    }
    tell(`Understood as ${m.title}. `, ...(note ? [note] : []));
  }

  // time is that of the page: an id or a name is looked for at any time where the source is
  // at hand, and a query that somebody has written is asked of the time on the screen.
  const time = (m) => (remote() !== false || m.as === 'query' ? range() : {});
  const address = (m) => link('', { ...(m.query ? { query: m.query } : m.list), ...time(m) });
  return {
    input,
    told,
    // known is called when remote may have an answer.
    known() { if (waiting) live(); },
  };
}
