// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package labelfacts_test

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelfacts"
)

func TestCountAllocates(t *testing.T) {
	var l labelfacts.Labeller
	if n := testing.AllocsPerRun(100, func() { l.Count(trace.TraceID{15: 1}, true) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
