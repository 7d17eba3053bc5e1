// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// A frozen page has its answers in the document, by relative address, and needs no server.
const frozen = globalThis.document?.getElementById?.('frozen');
const answers = frozen && new Map(Object.entries(JSON.parse(frozen.textContent)).map(([address, answer]) => [sorted(address), answer]));
export const isFrozen = Boolean(frozen);

// sorted returns the page of an address with its parameters in the order of their names.
function sorted(address) {
  const [path, query] = address.replace('#', '').split('?');
  const params = new URLSearchParams(query);
  for (const name of ['format', 'since', 'limit']) params.delete(name);
  params.sort();
  return `${path.slice(path.lastIndexOf('/') + 1)}?${params}`;
}

// lacks returns true for a link of a frozen page to an answer that it does not have.
export const lacks = (href) => isFrozen && href.startsWith('#./') && !answers.has(sorted(href));

// here is the address of the page. A frozen page has it behind the # of the document.
export function here() {
  if (!isFrozen) return location;
  const own = location.hash.length > 1 ? location.hash.slice(1) : frozen.dataset.page ?? [...answers.keys()][0] ?? '?';
  const [path, search] = own.split('?');
  return { pathname: path, search: search ? `?${search}` : '', hostname: '', href: location.href };
}

export const pageName = () => here().pathname.slice(here().pathname.lastIndexOf('/') + 1);

// pageParams are the parameters of the page, without the form of an answer.
export function pageParams() {
  const params = new URLSearchParams(here().search);
  params.delete('format');
  return params;
}

// go shows another state of this page; replace leaves no trace in the history.
export function go(search, replace) {
  const to = isFrozen ? `#./${pageName()}${search}` : search;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
}

// rawQuery returns the parameters of the address, except names, unchanged: a browser would repair some.
export const rawQuery = (...names) => here().search.slice(1).split('&').filter((p) => p && !names.includes(p.split('=')[0]));

// asJSON is the address of the data of this page.
export const asJSON = () => `${here().pathname}?${[...rawQuery('format'), 'format=json'].join('&')}`;

// get fetches JSON. Errors from the server have its message, and served is true.
export async function get(address, method) {
  if (isFrozen) {
    const answer = answers.get(sorted(address));
    if (!answer) throw Object.assign(new Error('this downloaded page does not have that part'), { served: true, refused: true });
    return answer;
  }
  const answer = await fetch(address, { headers: { Accept: 'application/json' }, method });
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

// link is an address of this viewer, relative to its mount. A list is several values of a parameter.
export function link(page, params) {
  const pairs = params instanceof URLSearchParams ? [...params] : Object.entries(params ?? {}).flatMap(([k, v]) => [v].flat().map((one) => [k, one]));
  const query = new URLSearchParams(pairs).toString();
  return `${isFrozen ? '#' : ''}./${page}${query ? `?${query}` : ''}`;
}

// range returns the from and until of the page's address.
export function range() {
  const params = pageParams();
  return Object.fromEntries(['from', 'until'].filter((k) => params.get(k)).map((k) => [k, params.get(k)]));
}

// fixed returns the range of an answer, which stays the same while profiles arrive: its windows, clear
// of their edges, which neighbours share. A span has its own time, a ranged answer its address.
export function fixed(data) {
  if (data.span || data.ranged || !data.windows) return range();
  return { from: Math.ceil(new Date(data.from).getTime()) + 1, until: Math.floor(new Date(data.until).getTime()) - 2 };
}

// remember puts the state of the page into its address; empty values are left out.
export function remember(values) {
  const params = pageParams();
  for (const [key, v] of Object.entries(values)) {
    if (v) params.set(key, v);
    else params.delete(key);
  }
  go(`?${params}`, true);
}

// rememberTyped remembers values() at a pause: browsers refuse 100 new addresses in half a minute.
export function rememberTyped(input, values) {
  let typing;
  for (const [kind, pause] of [['input', 200], ['change', 0]]) {
    input.addEventListener(kind, () => {
      clearTimeout(typing);
      typing = setTimeout(() => { if (input.isConnected) remember(values()); }, pause);
    });
  }
}

// times returns the range of a baseline that has one.
export const times = ({ from, until }) => ({ ...(from && { from }), ...(until && { until }) });

// comparison returns the address of the comparison of two queries, each with its own range.
export function comparison(left, leftRange, right, rightRange) {
  const side = (name, r) => Object.fromEntries(Object.entries(r).map(([k, v]) => [name + (k === 'from' ? 'From' : 'Until'), v]));
  return link('comparison-diff', { query: left, leftQuery: left, ...side('left', leftRange), rightQuery: right, ...side('right', rightRange) });
}

// CONDITIONS are the parameters of lists of spans without a control of their own.
export const CONDITIONS = { name: 'named', trace: 'of trace', service: 'of service', attribute: 'with', below: 'below', flat: 'each span', from: 'from', until: 'until' };
const KEPT = [...Object.keys(CONDITIONS), 'filter', 'error', 'min'];

// dropConditions removes all conditions. The time of a ranged source stays: it holds nothing else.
export function dropConditions(params, ranged) {
  for (const key of KEPT) if (!ranged || key !== 'from' && key !== 'until') params.delete(key);
}
