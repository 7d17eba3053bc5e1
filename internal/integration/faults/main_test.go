// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package faults has the exporters of all protocols meet the faults of networks and
// servers over real sockets, and keeps the account of every profile.
package faults

import (
	"flag"
	"os"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) {
	// The cases wait for deadlines and networks, and hardly compute.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // the faults
	os.Exit(leaktest.Run(m))
}
