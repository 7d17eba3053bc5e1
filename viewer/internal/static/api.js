// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// rawQuery returns the parameters of the page's address without those named, unchanged:
// the server must see what it cannot parse, which a browser would repair.
export const rawQuery = (...names) => location.search.slice(1).split('&').filter((p) => p && !names.includes(p.split('=')[0]));

// asJSON is the address of the data of this page, with other parameters added.
export function asJSON(more = {}) {
  const names = ['format', ...Object.keys(more)];
  return `${location.pathname}?${[...rawQuery(...names), new URLSearchParams({ ...more, format: 'json' })].join('&')}`;
}

// get fetches JSON. Errors from the server have its message, and served is true.
export async function get(address, signal) {
  const answer = await fetch(address, { headers: { Accept: 'application/json' }, signal });
  const text = await answer.text();
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw Object.assign(new Error(text.trim() || `the server answered ${answer.status}`), { served: true, refused: answer.status < 500 });
  }
  if (!answer.ok) throw Object.assign(new Error(data.error), { column: data.column, served: true, refused: answer.status < 500 });
  return data;
}

// link is an address of this viewer, relative to where it is mounted. A list is a parameter
// that is given several times.
export function link(page, params) {
  const pairs = params instanceof URLSearchParams ? [...params] : Object.entries(params ?? {}).flatMap(([k, v]) => [v].flat().map((one) => [k, one]));
  const query = new URLSearchParams(pairs).toString();
  return `./${page}${query ? `?${query}` : ''}`;
}

// range returns the from and until of the page's address.
export function range() {
  const params = new URLSearchParams(location.search);
  return Object.fromEntries(['from', 'until'].filter((k) => params.get(k)).map((k) => [k, params.get(k)]));
}

// fixed returns the range that an answer is about, so that it stays the same while profiles
// come: the windows that it was found in, kept clear of their edges, which their neighbours
// share. A span has its own time, and what is ranged was asked for by its range.
export function fixed(data) {
  if (data.span || data.ranged || !data.windows) return range();
  return { from: Math.ceil(new Date(data.from).getTime()) + 1, until: Math.floor(new Date(data.until).getTime()) - 2 };
}

// parts returns a function that asks the server for parts of a graph, and for the functions
// of a search, of what params select.
export const parts = (params) => (more, signal) => get(link('graph', Object.fromEntries(Object.entries({ ...params, ...more, format: 'json' }).filter(([, v]) => v))), signal);

// remember puts what the page shows into its address; what is empty is left out.
export function remember(values) {
  const params = new URLSearchParams(location.search);
  for (const [key, v] of Object.entries(values)) {
    if (v) params.set(key, v);
    else params.delete(key);
  }
  history.replaceState(null, '', `?${params}`);
}

// rememberTyped remembers values() when the user pauses or leaves the input: some browsers
// refuse more than 100 new addresses in half a minute.
export function rememberTyped(input, values) {
  let typing;
  const now = () => {
    clearTimeout(typing);
    if (input.isConnected) remember(values());
  };
  input.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(now, 200);
  });
  input.addEventListener('change', now);
}

// times returns the range of a baseline that has one.
export const times = ({ from, until }) => ({ ...(from && { from }), ...(until && { until }) });

// comparison returns the address of the comparison of two queries, each with its own
// range.
export function comparison(left, leftRange, right, rightRange) {
  const side = (name, r) => Object.fromEntries(Object.entries(r).map(([k, v]) => [name + (k === 'from' ? 'From' : 'Until'), v]));
  return link('comparison-diff', { query: left, leftQuery: left, ...side('left', leftRange), rightQuery: right, ...side('right', rightRange) });
}
