// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

// Set returns the set of entries that All has shown, perhaps to another process. What
// is not a key to keep here is left out, and so is what there is no room for.
func (k *Keys) Set(entries []Entry) []byte {
	w := writer{keys: k, limit: MaxOwn + MaxBelow}
	child, begun := "", false
	for _, e := range entries {
		if e.More {
			w.full = true
			continue
		}
		n := k.number(e.Key)
		if n == 0 {
			continue
		}
		if e.OfChild && (e.Child != child || !begun) {
			begun, child = true, e.Child
			w.set = append(w.set, ofChild)
			w.text(child, maxName, false)
		}
		w.entry(n, e.Value)
	}
	if w.full && len(w.set)+1 <= w.limit {
		w.set = append(w.set, more)
	}
	return w.set
}
