// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The process has one CPU profiler: no test of this package runs in parallel.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
