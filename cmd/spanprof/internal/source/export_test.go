// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import "testing"

// SetMaxAnswer bounds answers by less, until the test ends.
func SetMaxAnswer(t *testing.T, n int64) {
	t.Helper()
	before := maxAnswer
	maxAnswer = n
	t.Cleanup(func() { maxAnswer = before })
}
