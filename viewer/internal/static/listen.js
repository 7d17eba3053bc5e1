// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Views come and go while the window stays. A view that listens to the window itself would
// never be collected, nor would its data: the window gets one listener for each kind of
// event, which passes it on to the elements that are still on the page.
const followers = new Map(); // by kind: [WeakRef of an element, ...]
const handlers = new WeakMap(); // by element: {kind: [function, ...]}

const SOURCES = {
  scroll: (f) => addEventListener('scroll', f, { passive: true }),
  popstate: (f) => addEventListener('popstate', f),
  beforeprint: (f) => addEventListener('beforeprint', f),
  afterprint: (f) => addEventListener('afterprint', f),
  theme: (f) => matchMedia('(prefers-color-scheme: dark)').addEventListener('change', f),
};

// follow calls f at each event of a kind while the element is on the page.
export function follow(element, kind, f) {
  if (!followers.has(kind)) {
    followers.set(kind, []);
    SOURCES[kind](() => pass(kind));
  }
  const own = handlers.get(element) ?? {};
  handlers.set(element, own);
  if (!own[kind]) {
    own[kind] = [];
    const alive = followers.get(kind).filter((ref) => ref.deref());
    followers.set(kind, [...alive, new WeakRef(element)]);
  }
  own[kind].push(f);
}

const resized = new WeakMap(); // by element: what follows its size
let sizes;

// followSize calls f when an element that is on the page, or is put there now, has another size.
// An observer of its own would keep an element for good.
export function followSize(element, f) {
  if (resized.has(element)) return;
  sizes ??= new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.isConnected) resized.get(target)?.();
      else {
        sizes.unobserve(target);
        resized.delete(target);
      }
    }
  });
  resized.set(element, f);
  sizes.observe(element);
}

function pass(kind) {
  for (const ref of followers.get(kind)) {
    const element = ref.deref();
    if (element?.isConnected) for (const f of handlers.get(element)[kind]) f();
  }
}
