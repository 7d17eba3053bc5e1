// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(appVariable); path != "" {
		os.Exit(runApp(path))
	}
	goleak.VerifyTestMain(m)
}
