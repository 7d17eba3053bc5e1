// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func TestContain(t *testing.T) {
	failure := errors.New("refused")
	if err := report.Contain(func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("Contain: %v, want the error", err)
	}
	for want, f := range map[string]func() error{
		"panic: out of order": func() error { panic("out of order") },
		"runtime.Goexit":      func() error { runtime.Goexit(); return nil },
	} {
		if err := report.Contain(f); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "reporter_test.go") {
			t.Errorf("Contain: %v, want %s with its stack", err, want)
		}
	}
}

// refused returns errors of different causes.
func refused(i int) error { return errors.New("refused " + strings.Repeat("x", i)) }

func TestErrorHandlerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var log errorLog
		setErrorHandler(t, func(err error) { <-release; log.Handle(err) })
		var r report.Reporter
		for i := range 20 {
			r.Report(refused(i))
			synctest.Wait()
		}
		r.Wait(t.Context()) // for half a second
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
			want = append(want, refused(i).Error())
		}
		want = append(want, "3 more error(s) are not reported: the error handler was busy")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	})
}

func TestErrorHandlerThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which the half second of Wait is long enough
		var log errorLog
		setErrorHandler(t, func(err error) { log.Handle(err); runtime.Goexit() })
		var r report.Reporter
		for i := range 3 {
			r.Report(refused(i))
		}
		r.Wait(t.Context())
		if got := log.take(); len(got) != 3 {
			t.Errorf("reported %v, want three errors", got)
		}
	})
}

func TestSynchronous(t *testing.T) {
	var got []string
	restore := report.Synchronous(func(err error) { got = append(got, err.Error()) })
	var r report.Reporter
	for _, text := range []string{"refused", "refused", "closed", "refused"} {
		r.Report(errors.New(text))
	}
	if diff := cmp.Diff([]string{"refused", "closed"}, got); diff != "" {
		t.Errorf("reported within a minute (-want +got):\n%s", diff)
	}
	r.Flush()
	if len(got) != 3 || !strings.HasPrefix(got[2], "refused (and 1 more like it since ") {
		t.Errorf("reported %q, want the two others together after Flush", got)
	}

	restore()
	reported := make(chan error, 1)
	setErrorHandler(t, func(err error) { reported <- err })
	r.Report(errors.New("unknown"))
	if err := <-reported; err.Error() != "unknown" || len(got) != 3 {
		t.Errorf("after restore: %v to otel.Handle, %q to the test's handler", err, got)
	}
	r.Wait(t.Context())
}

func TestErrorHandlerHasNoLabels(t *testing.T) {
	const key = "reporter_test_label"
	reported, profile := make(chan struct{}), make(chan string, 1)
	setErrorHandler(t, func(error) {
		<-reported
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		profile <- b.String()
	})
	var r report.Reporter
	pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) { r.Report(errors.New("refused")) })
	close(reported)
	if got := <-profile; strings.Contains(got, key) {
		t.Errorf("a goroutine has the labels of Report's caller:\n%s", got)
	}
	r.Wait(t.Context())
}

func setErrorHandler(t *testing.T, handle func(error)) {
	t.Helper()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	t.Cleanup(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) })
}

// errorLog is an otel.ErrorHandler that keeps the errors.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) take() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := l.errs
	l.errs = nil
	return errs
}
