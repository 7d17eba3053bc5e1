// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/leaktest"
)

// crashVar makes the test binary crash in a span, in the named way.
const crashVar = "SPANPROF_TEST_CRASH"

func TestMain(m *testing.M) {
	if how := os.Getenv(crashVar); how != "" {
		crash(how)
	}
	// The published snippet, an Example, does not shut its provider down.
	os.Exit(leaktest.Run(m, goleak.IgnoreTopFunction("go.opentelemetry.io/otel/sdk/trace.(*batchSpanProcessor).processQueue")))
}

func crash(how string) {
	var tp trace.TracerProvider = sdktrace.NewTracerProvider()
	if strings.HasPrefix(how, "wrapped") {
		tp = spanprof.NewTracerProvider(tp)
	}
	_, span := tp.Tracer("test").Start(context.Background(), "crash")
	defer span.End()
	if strings.HasSuffix(how, "ended") {
		span.End()
	}
	if strings.HasSuffix(how, "nil") {
		panic(nil) //nolint:govet // on purpose
	}
	panic(errors.New("oops"))
}

// A crash in a span has the same header as with the SDK alone.
func TestCrashHeader(t *testing.T) {
	for _, what := range []string{"error", "nil", "ended"} {
		bare, wrapped := crashHeader(t, "bare "+what), crashHeader(t, "wrapped "+what)
		if bare != wrapped || !strings.HasPrefix(bare, "panic: ") {
			t.Errorf("crashes with\n%s\nwant what it says with the SDK alone:\n%s", wrapped, bare)
		}
	}
}

// crashHeader returns what a crash writes above the goroutines.
func crashHeader(t *testing.T, how string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashVar+"="+how)
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		t.Fatalf("%s: %v, want a crash\n%s", how, err, out)
	}
	header, _, _ := strings.Cut(string(out), "\ngoroutine ")
	return header
}
