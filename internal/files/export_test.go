// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package files

import "testing"

// SetMaxEntries changes the bound of Entries for a test.
func SetMaxEntries(t *testing.T, n int) {
	before := maxEntries
	t.Cleanup(func() { maxEntries = before })
	maxEntries = n
}
