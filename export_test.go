// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

// ReadsGoroutineLabels reports whether the labels of goroutines can be read.
func ReadsGoroutineLabels() bool {
	_, public := newLabeler().(publicLabeler)
	return !public
}
