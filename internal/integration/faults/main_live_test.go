// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

// Package faults runs the exporters of all protocols against faults of networks and
// servers over real sockets. It counts every profile.
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
