// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A message has the whole host. The process takes its own part.
func TestOwnProcess(t *testing.T) {
	m := newMessage()
	m.process(99, m.record(1, []uint64{1}, "span_id", searchID))
	m.process(100, m.record(1, []uint64{2}, "span_id", searchID), m.record(2, []uint64{3}))
	got, _ := take(t, []message{m})
	want := []string{"1 frames, [1 10]:", "2 frames, [1 10]: span_attribution=first span_id=" + searchID + " span_name=search"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOtherProfiles leaves out profiles of other kinds: events of probes.
func TestOtherProfiles(t *testing.T) {
	m := newMessage()
	m.process(100, m.record(1, []uint64{1}, "span_id", searchID))
	m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].SampleType.TypeStrindex = m.text("events")
	got, status := take(t, []message{m})
	if len(got) != 0 || status.Other != 1 {
		t.Errorf("%v, %+v", got, status)
	}
}
