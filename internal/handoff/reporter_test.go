// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handoff_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/handoff"
)

func TestErrorHandlerMayUseTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := refusing()
		q := handoff.New(s, one, errShutdown)
		done := make(chan error, 1)
		setErrorHandler(t, func(error) {
			done <- errors.Join(q.Flush(context.Background()), q.Shutdown(context.Background()))
		})
		push(t, q, 0)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"0", "flush", "shutdown"}, s.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		check(t, q, handoff.Stats{Failed: 1})
	})
}

func TestErrorHandlerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var log errorLog
		setErrorHandler(t, func(err error) { <-release; log.Handle(err) })
		q := handoff.New(refusing(), one, errShutdown)
		for i := range 20 {
			push(t, q, i)
			synctest.Wait()
		}
		if err := q.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if err := q.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		check(t, q, handoff.Stats{Failed: 20})
		if got := log.take(); len(got) != 0 {
			t.Fatalf("the error handler has returned from %v", got)
		}

		close(release)
		synctest.Wait()
		var got, want []string
		for _, err := range log.take() {
			got = append(got, err.Error())
		}
		for i := range 17 { // one in the handler's hands, and 16 that wait
			want = append(want, fmt.Sprintf("export to *handoff_test.sink: refused %d", i))
		}
		want = append(want, "3 more error(s) are not reported: the error handler was busy")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	})
}

func TestErrorHandlerThatEndsItsGoroutine(t *testing.T) {
	var log errorLog
	setErrorHandler(t, func(err error) { log.Handle(err); runtime.Goexit() })
	q := handoff.New(refusing(), one, errShutdown)
	push(t, q, 0, 1, 2)
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := log.take(); len(got) != 3 {
		t.Errorf("reported %v, want three errors", got)
	}
}

func TestErrorHandlerHasNoLabels(t *testing.T) {
	const key = "reporter_test_label"
	pushed, profile := make(chan struct{}), make(chan string, 1)
	setErrorHandler(t, func(error) {
		<-pushed
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		profile <- b.String()
	})
	release := make(chan struct{})
	q := handoff.New(&sink{export: func(context.Context, int) error { <-release; return nil }}, one, errShutdown)
	pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) {
		for i := range 50 { // one more than fit, whatever the worker has taken
			push(t, q, i)
		}
	})
	close(pushed)
	if got := <-profile; strings.Contains(got, key) {
		t.Errorf("a goroutine has the labels of Push's caller:\n%s", got)
	}
	close(release)
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// refusing returns a sink whose Export fails.
func refusing() *sink {
	return &sink{export: func(_ context.Context, item int) error { return fmt.Errorf("refused %d", item) }}
}

func setErrorHandler(t *testing.T, handle func(error)) {
	t.Helper()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	t.Cleanup(func() { otel.SetErrorHandler(&reported) })
}
