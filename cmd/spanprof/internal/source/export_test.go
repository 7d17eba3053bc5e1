// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import "testing"

// SetMaxUnpacked bounds profiles by less, until the test ends.
func SetMaxUnpacked(t *testing.T, n int) {
	t.Helper()
	before := maxUnpacked
	maxUnpacked = n
	t.Cleanup(func() { maxUnpacked = before })
}
