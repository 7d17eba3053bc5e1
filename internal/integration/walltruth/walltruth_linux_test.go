// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package walltruth

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/loudskip"
)

func TestMain(m *testing.M) {
	done, err := Main(nil)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case !done:
		os.Exit(m.Run())
	}
}

// TestWallAgreesWithTheProgramsClock compares the wall time of each span with what the
// program has measured itself. The command walltable takes longer, and has a case with
// 100,000 goroutines.
func TestWallAgreesWithTheProgramsClock(t *testing.T) {
	for _, plan := range Plans(3 * time.Second) {
		t.Run(plan.Name, func(t *testing.T) {
			if plan.Goroutines > 0 {
				loudskip.Test(t, "it takes 20 s: GOWORK=off go -C internal/integration/peers run ./walltable")
			}
			r, err := Run(t.Context(), plan)
			if errors.Is(err, ErrNoQuota) {
				loudskip.Test(t, err.Error())
			}
			if err != nil {
				t.Fatal(err)
			}
			report(t, r)
			if wrong := r.Wrong(); len(wrong) > 0 {
				t.Errorf("%q", wrong)
			}
		})
	}
}

func report(t *testing.T, r Result) {
	t.Helper()
	for _, s := range r.Outside() {
		t.Logf("%s: %v by %d samples ± %v and %v unwatched, took %v", s.Kind, s.Total, s.Samples, s.Error, s.Unwatched, s.Took)
	}
	for _, s := range r.Sums() {
		t.Logf("%s: %v ± %v and %v unwatched, took %v", s.Kind, s.Total, s.Error, s.Unwatched, s.Took)
	}
	t.Logf("%d spans, of which %d are further off than stated; %d rounds, %v unwatched in %d freezes", len(r.Spans), len(r.Outside()), r.Status.Rounds, r.Status.Unwatched, r.Status.Freezes)
}
