// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"testing"
)

// SetMaxDecoded bounds profiles by less, until the test ends.
func SetMaxDecoded(t *testing.T, n int) {
	t.Helper()
	before := maxUnpacked
	maxUnpacked = int64(n)
	t.Cleanup(func() { maxUnpacked = before })
}
