// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package wall

import (
	"testing"
)

// TestRuntimeIsKnown fails where a Go version of the build constraint has
// changed: rounds by the public way would go on, but take ten times as long.
func TestRuntimeIsKnown(t *testing.T) {
	if s := newSource(false); s.name() != "runtime" {
		t.Errorf("rounds are taken by the %s way", s.name())
	}
}
