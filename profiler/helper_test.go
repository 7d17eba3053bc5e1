// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler"
)

// endless is a window that ends only by Flush or Shutdown.
const endless = time.Hour

// longest is how long a test burns CPU at most before it says that no sample
// has come.
const longest = 8 * time.Second

// start returns a profiler whose windows are open, which the end of the test shuts
// down. Where the machine is slow it has more patience than that of a program.
func start(t *testing.T, opts ...profiler.Option) (*profiler.Profiler, *exportertest.Recorder) {
	t.Helper()
	p, rec := launch(t, longest, opts...)
	if p.Status().Running {
		if err := p.Opened(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return p, rec
}

// launch is start where the windows cannot open, or only later.
func launch(t *testing.T, patience time.Duration, opts ...profiler.Option) (*profiler.Profiler, *exportertest.Recorder) {
	t.Helper()
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, opts...)
	if err != nil {
		t.Fatal(err)
	}
	p.SetPatience(patience)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, rec
}

// lane returns the account of the only exporter.
func lane(p *profiler.Profiler) exporter.Status { return p.Status().Lanes[0] }

// lost returns the number of lost profiles.
func lost(s exporter.Status) (n uint64) {
	for _, lost := range s.Lost {
		n += lost
	}
	return n
}

// recorded is that of a Recorder that has taken n profiles.
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

// fallback returns what Status says of samples that runtime/pprof reads, which is
// nothing on a runtime that is known.
func fallback(t *testing.T, p *profiler.Profiler) string {
	t.Helper()
	why := p.Status().CPUFallback
	if unknown := goruntime.Unknown(); (why == "") != (unknown == nil) && runtime.GOOS == "linux" {
		t.Errorf("the status is %q, while the runtime is known: %v", why, unknown)
	}
	return why
}
