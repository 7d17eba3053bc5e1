// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	restore()
	reported := make(chan error, 1)
	setErrorHandler(t, func(err error) { reported <- err })
	r.Report(errors.New("unknown"))
	if err := <-reported; err.Error() != "unknown" || len(got) != 2 {
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

// A cause that fails all the time is reported once a minute, with the number of errors in
// between. Other causes are reported at once. Wait reports the rest.
func TestOneReportAMinuteForEachCause(t *testing.T) {
	var (
		log   errorLog
		start time.Time
	)
	setErrorHandler(t, log.Handle)
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		var r report.Reporter
		for i := range 150 {
			r.Report(fmt.Errorf("profile %d of 10%d bytes rejected: 422", i, i))
			if i == 30 {
				r.Report(errors.New("the queue is full"))
			}
			<-time.After(time.Second)
		}
		r.Wait(t.Context())
	})
	var got []string
	for _, err := range log.take() {
		got = append(got, err.Error())
	}
	minute := func(i int) string { return start.Add(time.Duration(i) * time.Minute).Format(time.TimeOnly) }
	want := []string{
		"profile 0 of 100 bytes rejected: 422",
		"the queue is full",
		"profile 60 of 1060 bytes rejected: 422 (and 59 more like it since " + minute(0) + ")",
		"profile 120 of 10120 bytes rejected: 422 (and 59 more like it since " + minute(1) + ")",
		"profile 149 of 10149 bytes rejected: 422 (and 28 more like it since " + minute(2) + ")",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// Numbers and ids in any form do not distinguish causes; words do.
func TestIDsAreOneCause(t *testing.T) {
	long := strings.Repeat("too long ", 30)
	for _, tt := range []struct {
		name, a, b string
		one        bool
	}{
		{"UUID", "request 6ba7b810-9dad-11d1-80b4-00c04fd430c8: 500", "request ABCDEFAB-abcd-effe-cafe-abcdefabcdef: 500", true},
		{"trace id", "trace 4bf92f3577b34da6a3ce929d0e0e4736 rejected", "trace 00f067aa0ba902b7ffffffffffffffff rejected", true},
		{"id before the bound", "id a1" + long, "id 00f067aa0ba902b7" + long, true},
		{"0x", "at 0xc000123abc", "at 0xdeadbeef00", true},
		{"decimal", "after 5 attempts", "after 12 attempts", true},
		{"words", "decade is bad", "facade is bad", false},
		{"status", "answers 500: bug", "answers 500: full", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			defer report.Synchronous(func(err error) { got = append(got, err.Error()) })()
			var r report.Reporter
			r.Report(errors.New(tt.a))
			r.Report(errors.New(tt.b))
			if want := map[bool]int{true: 1, false: 2}[tt.one]; len(got) != want {
				t.Errorf("reported %q, want %d", got, want)
			}
		})
	}
}

// A server with another text each time makes a bounded number of causes and reports.
func TestCausesAreBounded(t *testing.T) {
	var log errorLog
	setErrorHandler(t, log.Handle)
	synctest.Test(t, func(t *testing.T) {
		var r report.Reporter
		for range 3 {
			for i := range 1000 {
				r.Report(errors.New("rejected: " + strings.Repeat("x", i%190)))
				synctest.Wait()
			}
			<-time.After(time.Minute)
		}
		r.Wait(t.Context())
	})
	if n := len(log.take()); n > 4*65 { // 64 causes and the rest, each minute and at the end
		t.Errorf("%d errors reported of 3000 within three minutes", n)
	}
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
