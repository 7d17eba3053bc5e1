// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/report"
)

// A cause that fails all the time is reported once a minute, with the number of errors in
// between. Other causes are reported at once.
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
	if n := len(log.take()); n > (3+1)*65 { // 64 causes and the rest, each minute and at the end
		t.Errorf("%d errors reported of 3000 within three minutes", n)
	}
}
