// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

func readRecording(t *testing.T) (recording []byte, tl *timeline.Timeline) {
	t.Helper()
	recording, err := os.ReadFile("testdata/go1.26.trace")
	if err != nil {
		t.Fatal(err)
	}
	if tl, err = timeline.Read(bytes.NewReader(recording), defaultMaxBytes, t.Context().Err); err != nil {
		t.Fatal(err)
	}
	return recording, tl
}

// Where there are too many events to look at, the result says so. The path comes before what
// ran meanwhile, which may be any number of goroutines.
func TestTooManyEvents(t *testing.T) {
	_, tl := readRecording(t)
	withRunners, paths := 0, 0
	for root := range tl.Spans {
		if !tl.Spans[root].IsRoot() {
			continue
		}
		all := analyzeSpan(tl, int32(root), pieceBudget)
		if all.Cut {
			t.Fatalf("span %q of the recording has too many events", all.Name)
		}
		withRunners += min(len(all.Runners), 1)
		for budget := 0; ; budget = 2*budget + 1 {
			some := analyzeSpan(tl, int32(root), budget)
			if !some.Cut {
				if !reflect.DeepEqual(some, all) {
					t.Errorf("span %q, %d pieces: not all is there, and nothing says so", all.Name, budget)
				}
				break
			}
			if len(all.Runners) > 0 && !some.RunnersCut {
				t.Errorf("span %q, %d pieces: those that ran meanwhile are not said to be cut", all.Name, budget)
			}
			if len(some.Path) == len(all.Path) && len(some.Runners) < len(all.Runners) {
				paths++
			}
		}
	}
	if withRunners == 0 || paths == 0 {
		t.Errorf("%d spans have runners, %d paths were whole without all of these: want some", withRunners, paths)
	}
}
