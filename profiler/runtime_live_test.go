// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && go1.26 && !spanprof_public

package profiler_test

import (
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// TestRuntimeIsUsed fails where a Go release has changed what rates other than
// 100 Hz rely on: profiles would go on, at 100 Hz.
func TestRuntimeIsUsed(t *testing.T) {
	p, _ := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(97), profiler.WithWindow(endless))
	flush(t, p)
	shutdown(t, p)
	if s := p.Status(); s.CPURate != 97 || s.CPUFallback != "" {
		t.Errorf("status: %d Hz, %q", s.CPURate, s.CPUFallback)
	}
}
