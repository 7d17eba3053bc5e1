// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// A long name is cut before a trace is on too: the SDK asks for that after the processors.
func TestLongNamesBeforeATrace(t *testing.T) {
	if !goruntime.LongTaskNamesCrash {
		t.Skip("this Go does not die of long names")
	}
	r := newTestRecorder(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor{r}))
	_, span := tp.Tracer("test").Start(t.Context(), strings.Repeat("n", 1<<20))
	if got := len(span.(sdktrace.ReadOnlySpan).Name()); got != goruntime.MaxTaskName {
		t.Errorf("the name has %d bytes, want %d", got, goruntime.MaxTaskName)
	}
	if got := r.accounts.values[cutNames].Load(); got != 1 {
		t.Errorf("%d names that were cut are counted, want 1", got)
	}
}
