// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "hash/maphash"

// windowName is a nameCount as a window keeps it.
type windowName struct {
	texts *nameTexts
	nameNumbers
}

// nameTexts are what tells names apart, and the label that samples had.
type nameTexts struct {
	nameKey
	label string
}

func (n *nameTexts) hash(seed maphash.Seed) uint64 { return maphash.Comparable(seed, *n) }

func (n *nameTexts) equal(other *nameTexts) bool { return *n == *other }

func (*nameTexts) size() int64 { return 0 }

func (w *windowName) count() nameCount {
	return nameCount{nameTexts: *w.texts, nameNumbers: w.nameNumbers}
}
