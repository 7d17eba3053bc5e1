// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/internal/attribution"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// take gives messages to a receiver, and returns what it has exported in a form for
// comparisons: stacks' lengths, labels and values.
func take(t *testing.T, messages []message, opts ...Option) ([]string, Status) {
	t.Helper()
	exported := new(exportertest.Recorder)
	r, err := New(exported, lookup, opts...)
	if err != nil {
		t.Fatal(err)
	}
	r.pid = 100
	for _, m := range messages {
		if err := r.take(t.Context(), "connection", m.ExportProfilesServiceRequest); err != nil {
			t.Fatal(err)
		}
	}
	return lines(t, exported), r.Status()
}

func lines(t *testing.T, exported *exportertest.Recorder) (lines []string) {
	t.Helper()
	for s := range samplesOf(t, exported) {
		line := []string{fmt.Sprintf("%d frames, %d:", len(s.Location), s.Value)}
		for _, k := range slices.Sorted(maps.Keys(s.Label)) {
			line = append(line, k+"="+strings.Join(s.Label[k], ","))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	slices.Sort(lines)
	return lines
}

// timelineFunc is a Timelines.
type timelineFunc func(thread int64, at time.Time) (string, bool)

func (f timelineFunc) SpanAt(thread int64, at time.Time) (string, bool) { return f(thread, at) }

// Each sample is on a span by a witness, or ambiguous.
func TestWitnesses(t *testing.T) {
	const checkout = " span_id=" + checkoutID + " span_name=" + longName + " trace_id=" + traceID
	timelines := timelineFunc(func(thread int64, at time.Time) (string, bool) {
		if thread != 7 {
			t.Errorf("thread %d, want 7", thread)
		}
		return map[int64]string{2: searchID}[at.UnixNano()], at.UnixNano() == 2 || at.UnixNano() == 3
	})
	for name, tt := range map[string]struct {
		build  func(m message)
		want   []string
		status Status
	}{
		"the first sample of a record": {func(m message) {
			m.process(100, m.record(1, []uint64{9, 5, 8}, "span_id", checkoutID, "span_name", longName[:47], "user", "ann"), m.record(2, []uint64{4}))
		}, []string{
			"1 frames, [1 10]:",
			"2 frames, [1 10]: span_attribution=first" + checkout + " user=ann",
			"2 frames, [2 20]: span_attribution=ambiguous",
		}, Status{Messages: 1, First: 2, Ambiguous: 2}},
		"a Link": {func(m message) {
			m.Dictionary.LinkTable = append(m.Dictionary.LinkTable, &profilespb.Link{
				TraceId: []byte("\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36"),
				SpanId:  []byte("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"),
			})
			linked := m.record(1, []uint64{7, 8, 9}, "user", "ann")
			linked.LinkIndex = 1
			m.process(100, linked)
		}, []string{
			"2 frames, [1 10]: span_attribution=link" + checkout + " user=ann",
			"2 frames, [2 20]: span_attribution=link" + checkout,
		}, Status{Messages: 1, First: 1, Witnessed: 2}},
		"timelines": {func(m message) {
			m.process(100, m.record(1, []uint64{1, 2, 3, 4}, "span_id", checkoutID))
		}, []string{
			"2 frames, [1 10]:",
			"2 frames, [1 10]: profile_id=" + searchID + " span_attribution=timeline span_id=" + searchID + " span_name=search",
			"2 frames, [1 10]: span_attribution=ambiguous",
			"2 frames, [1 10]: span_attribution=first" + checkout,
		}, Status{Messages: 1, First: 1, Placed: 2, Ambiguous: 1}},
		"values of waiting": {func(m message) {
			waits := m.record(1, []uint64{7, 8, 9}, "span_id", searchID)
			waits.Values = []int64{5, 7, 11}
			m.process(100, waits)
			p := m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
			p.SampleType.TypeStrindex, p.SampleType.UnitStrindex, p.PeriodType, p.Period = m.text("off_cpu"), m.text("nanoseconds"), nil, 0
		}, []string{
			"2 frames, [1 5]: span_attribution=first span_id=" + searchID + " span_name=search",
			"2 frames, [2 18]: span_attribution=ambiguous",
		}, Status{Messages: 1, First: 1, Ambiguous: 2}},
	} {
		m := newMessage()
		tt.build(m)
		got, status := take(t, []message{m}, WithTimelines(timelines))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if status != tt.status {
			t.Errorf("%s: %+v, want %+v", name, status, tt.status)
		}
	}
}

// TestTimelinesContradict has other code change the labels of a goroutine: the timelines do
// not know that, and place nothing.
func TestTimelinesContradict(t *testing.T) {
	always := timelineFunc(func(int64, time.Time) (string, bool) { return searchID, true })
	for _, labels := range [][]string{
		{"span_id", checkoutID, "profile_id", checkoutID},
		{"profile_id", "by hand"},
		nil,
	} {
		m := newMessage()
		m.process(100, m.record(1, []uint64{1, 2, 3}, labels...), m.record(2, []uint64{4, 5}, "span_id", searchID))
		_, status := take(t, []message{m}, WithTimelines(always))
		if want := (Status{Messages: 1, First: 2, Placed: 1, Ambiguous: 2}); status != want {
			t.Errorf("labels %q: %+v, want %+v", labels, status, want)
		}
	}
}

// Processes without labels have no spans, until one comes. As many are remembered as a machine
// has.
func TestSpanless(t *testing.T) {
	before, after := newMessage(), newMessage()
	before.process(100, before.record(1, []uint64{1, 2}))
	after.process(100, after.record(1, []uint64{3, 4}), after.record(2, []uint64{5}, "span_id", searchID))
	got, status := take(t, []message{before, after, before})
	want := []string{
		"1 frames, [1 10]: span_attribution=first span_id=" + searchID + " span_name=search",
		"2 frames, [1 10]:", "2 frames, [1 10]:",
		"2 frames, [1 10]: span_attribution=ambiguous", "2 frames, [1 10]: span_attribution=ambiguous",
		"2 frames, [2 20]:",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 3, First: 3, Ambiguous: 2, Spanless: 2}); status != want {
		t.Errorf("got %+v, want %+v", status, want)
	}
	r, _ := newReceiver(t)
	labelled := []record{{rule: attribution.Record{Labels: map[string]string{"user": "ann"}}}}
	for pid := range int64(2*maxProcesses + 1) {
		if !r.haveSpans("connection", pid, labelled) || len(r.labelled) > maxProcesses {
			t.Fatalf("process %d: %d processes are remembered", pid, len(r.labelled))
		}
	}
}
