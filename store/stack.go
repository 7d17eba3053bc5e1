// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// Stack is a call stack. Equal locations of one store are the same pointer while
// the store holds them; they must not be changed.
type Stack struct {
	// Locations are ordered from the leaf to the root.
	Locations []*Location
}
