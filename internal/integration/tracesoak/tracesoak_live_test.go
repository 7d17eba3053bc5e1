// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"os"
	rtrace "runtime/trace"
	"testing"
	"time"
)

// TestSoak runs for 5 seconds each and the wait for what becomes of the last spans, or for as
// long as SPANPROF_TRACE_SOAK says, such as 30m: there are two recordings of each kind at least.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 20 seconds")
	}
	length := 5 * time.Second
	if asked := os.Getenv("SPANPROF_TRACE_SOAK"); asked != "" {
		var err error
		if length, err = time.ParseDuration(asked); err != nil {
			t.Fatalf("SPANPROF_TRACE_SOAK: %v", err)
		}
	}
	if rtrace.IsEnabled() {
		t.Skip("an execution trace is on already") // go test -trace
	}
	for _, test := range []struct {
		name   string
		direct bool
	}{{"exectrace.Start", false}, {"the flight recorder", true}} {
		t.Run(test.name, func(t *testing.T) { testSoak(t, length, test.direct) })
	}
}

// The runtime of Go 1.26.8 once wrote a part that no reader can read, in half an hour of
// runs on a busy machine ("expected a proc but didn't have one"), and a thread may be
// taken away for longer than an edge: one more run tells that from an error of the
// reader. Whatever is wrong fails at once.
func testSoak(t *testing.T, length time.Duration, direct bool) {
	for run := range 3 {
		s, err := newSoak(direct)
		if err != nil {
			t.Fatal(err)
		}
		s.every, s.beside, s.edge = 3*time.Second, 2*time.Second, 500*time.Millisecond
		if err := s.run(t.Context(), length); err != nil {
			t.Fatal(err)
		}
		t.Log(s.report())
		if s.passed() {
			return
		}
		if result := s.recorder.result(); result.wrong > 0 && result.parseErrors == 0 || s.traces.wrong > 0 {
			t.Fatal("spans are wrong")
		}
		t.Logf("RUN %d: SPANS ARE MISSING, OR RECORDINGS CANNOT BE READ", run+1)
	}
	t.Error("in each run spans were missing, or recordings could not be read")
}
