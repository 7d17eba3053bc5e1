// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp_test

import (
	"os"
	"testing"

	"github.com/spanprof/spanprof/internal/leaktest"
)

// The process has one CPU profiler: no test of this package runs in parallel.
func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
