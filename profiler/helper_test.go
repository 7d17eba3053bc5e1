// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"context"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// endless is a window that does not end within a test.
const endless = time.Hour

// longest is for how long runtime/pprof may delay the loop on a busy machine.
const longest = 8 * time.Second

// start returns a Profiler and its exporter. It is shut down at the end of the test.
func start(t *testing.T, opts ...profiler.Option) (*profiler.Profiler, *exportertest.Recorder) {
	t.Helper()
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, append([]profiler.Option{profiler.WithPatience(longest)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, rec
}

// lane is the account of the only exporter.
func lane(p *profiler.Profiler) exporter.Status { return p.Status().Lanes[0] }

// recorded is the account of n profiles that all arrived.
func recorded(n uint64) []exporter.Status {
	return []exporter.Status{{Name: "exportertest", Taken: n, Exported: n}}
}

func flush(t *testing.T, p *profiler.Profiler) {
	t.Helper()
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func shutdown(t *testing.T, p *profiler.Profiler) {
	t.Helper()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
