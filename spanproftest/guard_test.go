// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanproftest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// recorder is a test that keeps its errors.
type recorder struct {
	testing.TB
	errors, logs []string
}

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func (r *recorder) Log(args ...any) { r.logs = append(r.logs, fmt.Sprint(args...)) }

func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

// A growth in both runs fails. With the race detector all costs grow: a file of such a build is
// not compared.
func TestCheck(t *testing.T) {
	of := func(build string, cost float64) *record {
		return &record{Build: build, Names: map[string]costs{"GET /x": {bytes: {cost, cost + 1, cost + 2}}}}
	}
	for _, test := range []struct {
		first, second *record
		text          string
	}{
		{of("", 1001), nil, ""},
		{of("", 2000), of("", 2000), "GET /x: +100 % bytes (noise ±"},
		{of("", 2000), of("", 1001), ""},
		{of("", 2000), &record{}, ""},
		{&record{}, &record{}, "GET /x: no span has this name any more"},
		{of("-race", 2000), nil, ""},
	} {
		r := &recorder{TB: t}
		check(r, of("", 1000), test.first, func() (*record, error) { return test.second, nil })
		if got := strings.Join(r.errors, "\n"); got != test.text && (test.text == "" || !strings.HasPrefix(got, test.text)) {
			t.Errorf("got %q, want %q", got, test.text)
		}
	}
}

// A cost that cannot be compared is logged: a file of -cpuprofile has no CPU, for example.
func TestNotCompared(t *testing.T) {
	of := func(machine string, c costs) *record {
		return &record{Machine: machine, Names: map[string]costs{"GET /x": c}}
	}
	some := []float64{1, 2}
	for _, test := range []struct {
		want, got *record
		text      string
	}{
		{of("", nil), of("", costs{cpu: some}), "GET /x: CPU not compared: the file has 0 rounds with samples, this run 2"},
		{of("a", costs{cpu: some}), of("b", costs{cpu: some}), "GET /x: CPU not compared: the file is of a, this run of b"},
		{of("", nil), of("", nil), ""},
	} {
		r := &recorder{TB: t}
		all := grown(r, test.want, test.got)
		if got := strings.Join(r.logs, "\n"); got != test.text || len(all) > 0 {
			t.Errorf("got %q, grown %q, want %q", got, all, test.text)
		}
	}
}

func TestDisabled(t *testing.T) {
	t.Setenv("SPANPROF_DISABLED", "true")
	_, err := measure(t.Context(), func(context.Context, trace.TracerProvider) { t.Error("measures without a profiler") })
	if err == nil || !strings.Contains(err.Error(), "SPANPROF_DISABLED") {
		t.Errorf("got %v, want the variable", err)
	}
}
