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

// A cause that fails all the time is reported once a minute, with the number of those
// in between; others are not held up by it.
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

// A server with another text each time cannot make the causes grow without bound, nor
// fill the log.
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
