// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	pyroscope "github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// A program that pushes with pyroscope-go adds our profiler, in both orders. The profile of
// pyroscope-go is not disturbed and is reported. Ours begins after pyroscope-go has stopped.
func TestPyroscopeGo(t *testing.T) {
	for _, first := range []string{"pyroscope-go", "spanprof"} {
		t.Run(first+" first", func(t *testing.T) {
			await(t, func() bool { return !cpuInUse() })
			var reports reportLog
			otel.SetErrorHandler(&reports)
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer server.Close()
			startTheirs := func() *pyroscope.Profiler {
				theirs, err := pyroscope.Start(pyroscope.Config{
					ApplicationName: "shop",
					ServerAddress:   server.URL,
					ProfileTypes:    []pyroscope.ProfileType{pyroscope.ProfileCPU},
				})
				if err != nil {
					t.Fatal(err)
				}
				return theirs
			}
			var theirs *pyroscope.Profiler
			if first == "pyroscope-go" {
				theirs = startTheirs()
				await(t, cpuInUse)
			}
			rec := new(exportertest.Recorder)
			p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Shutdown(context.Background()) //nolint:errcheck // it has been shut down below, unless the test has failed
			if first == "spanprof" {
				await(t, func() bool { return p.Status().CPU == "profiling" })
				theirs = startTheirs()
			}
			await(t, func() bool { return strings.HasPrefix(p.Status().CPU, "another CPU profile is running") })
			await(t, func() bool { return strings.Contains(reports.text(), "another one is running") })
			if got := strings.Contains(reports.text(), "something else in this process has stopped it"); got != (first == "spanprof") {
				t.Errorf("reported %q", reports.text())
			}
			if !cpuInUse() {
				t.Error("the profile of pyroscope-go has ended")
			}

			if err := theirs.Stop(); err != nil {
				t.Error(err)
			}
			await(t, func() bool { return p.Status().CPU == "profiling" })
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			profiles := rec.Profiles()
			if len(profiles) == 0 {
				t.Fatal("got no windows")
			}
			if _, err := profiles[0].Parsed(); err != nil {
				t.Error(err)
			}
		})
	}
}

// cpuInUse reports whether a CPU profile is running. It starts none to find out:
// pyroscope-go would be refused just then, and it tries again only after its UploadRate.
func cpuInUse() bool {
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		return false
	}
	return strings.Contains(stacks.String(), "runtime/pprof.profileWriter")
}

// await returns when condition holds, looking at ever longer intervals.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	for d, waited := time.Millisecond, time.Duration(0); !condition(); d *= 2 {
		if waited > 30*time.Second {
			t.Fatalf("still not after %v", waited)
		}
		<-time.After(d)
		waited += d
	}
}

// reportLog is an otel.ErrorHandler.
type reportLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *reportLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *reportLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.errs)
}
