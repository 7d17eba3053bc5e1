// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"os"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) {
	// What the tests find there must be theirs.
	for _, v := range os.Environ() {
		if key, _, _ := strings.Cut(v, "="); strings.HasPrefix(key, "OTEL_") {
			_ = os.Unsetenv(key)
		}
	}
	os.Exit(leaktest.Run(m))
}
