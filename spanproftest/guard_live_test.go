// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanproftest

import (
	"context"
	"crypto/sha256"
	"io"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

var sink []byte

// endpoint hashes and allocates in a span.
func endpoint(hashes, pieces int) func(context.Context, trace.TracerProvider) {
	return func(ctx context.Context, tp trace.TracerProvider) {
		ctx, span := tp.Tracer("").Start(ctx, "GET /x")
		defer span.End()
		spanprof.Do(ctx, func(context.Context) {
			data := make([]byte, 64<<10)
			for range hashes {
				data[0] = sha256.Sum256(data)[0]
			}
			for range pieces {
				sink = make([]byte, 4<<10)
			}
		})
	}
}

// Equal work passes. More CPU and more bytes fail, each by its name.
func TestGuard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cost.json")
	Guard(t, file, endpoint(20, 200)) // writes
	for _, test := range []struct {
		run  func(context.Context, trace.TracerProvider)
		want string
	}{
		{endpoint(20, 200), ""},
		{endpoint(30, 200), " % CPU (noise ±"},
		{endpoint(20, 400), " % bytes (noise ±"},
	} {
		r := &recorder{TB: t}
		Guard(r, file, test.run)
		all := strings.Join(r.errors, "\n")
		if test.want == "" && all != "" || !strings.Contains(all, test.want) {
			t.Errorf("got %q, want %q", all, test.want)
		}
	}
}

// A run that fails the test leaves no profiler behind.
func TestRunFails(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		Guard(t, filepath.Join(t.TempDir(), "cost.json"), func(context.Context, trace.TracerProvider) { runtime.Goexit() })
	}()
	<-done
	if n := runtime.SetMutexProfileFraction(-1); n != 0 {
		t.Errorf("the mutex fraction is %d, want 0", n)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Error(err)
	}
	pprof.StopCPUProfile()
}
