// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
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
	for _, m := range messages {
		if err := r.take(t.Context(), "connection", m.ExportProfilesServiceRequest); err != nil {
			t.Fatal(err)
		}
	}
	return lines(t, exported), r.Status()
}

func lines(t *testing.T, exported *exportertest.Recorder) (lines []string) {
	t.Helper()
	for _, p := range exported.Profiles() {
		parsed, err := p.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range parsed.Sample {
			line := []string{fmt.Sprintf("%d frames, %d:", len(s.Location), s.Value)}
			for _, k := range slices.Sorted(maps.Keys(s.Label)) {
				line = append(line, k+"="+strings.Join(s.Label[k], ","))
			}
			lines = append(lines, strings.Join(line, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestFirstOnly(t *testing.T) {
	m := newMessage()
	m.process(100,
		m.record(1, []uint64{5, 3, 9}, "span_id", checkoutID, "span_name", longName[:47], "user", "ann"),
		m.record(2, []uint64{4}),
	)
	got, status := take(t, []message{m})
	want := []string{
		"1 frames, [1 10]:",
		"2 frames, [1 10]: span_attribution=first span_id=" + checkoutID + " span_name=" + longName + " trace_id=" + traceID + " user=ann",
		"2 frames, [2 20]: span_attribution=ambiguous",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 1, First: 2, Ambiguous: 2}); status != want {
		t.Errorf("%+v, want %+v", status, want)
	}
}

// TestTwins has two records that differ in labels alone. From then on the agent's
// labels are certain for all samples.
func TestTwins(t *testing.T) {
	before, twins, after := newMessage(), newMessage(), newMessage()
	before.process(100, before.record(1, []uint64{1, 2}, "span_id", checkoutID))
	twins.process(100, twins.record(1, []uint64{3, 4}, "span_id", checkoutID), twins.record(1, []uint64{5, 6}, "span_id", searchID))
	after.process(100, after.record(1, []uint64{7, 8}, "span_id", checkoutID), after.record(2, []uint64{9, 10}))
	checkout := "span_id=" + checkoutID + " span_name=" + longName + " trace_id=" + traceID
	got, status := take(t, []message{before, twins, after})
	want := []string{
		"1 frames, [2 20]:",
		"2 frames, [1 10]: span_attribution=ambiguous",
		"2 frames, [1 10]: span_attribution=first " + checkout,
		"2 frames, [2 20]: span_attribution=labels " + checkout,
		"2 frames, [2 20]: span_attribution=labels " + checkout,
		"2 frames, [2 20]: span_attribution=labels span_id=" + searchID + " span_name=search",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 3, First: 1, Ambiguous: 1, Witnessed: 8}); status != want {
		t.Errorf("%+v, want %+v", status, want)
	}
}

// TestAfterProcessor has a record that profilesprocessor has split: its parts are no twins,
// and the second one has no certain sample.
func TestAfterProcessor(t *testing.T) {
	m := newMessage()
	rest := m.record(1, []uint64{4, 5})
	rest.AttributeIndices = append(rest.AttributeIndices, int32(len(m.Dictionary.AttributeTable)))
	m.Dictionary.AttributeTable = append(m.Dictionary.AttributeTable, &profilespb.KeyValueAndUnit{
		KeyStrindex: m.text(labelkey.SpanAttribution),
		Value:       &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: labelkey.Ambiguous}},
	})
	m.process(100, m.record(1, []uint64{3}, "span_id", searchID), rest)
	got, status := take(t, []message{m})
	want := []string{
		"2 frames, [1 10]: span_attribution=first span_id=" + searchID + " span_name=search",
		"2 frames, [2 20]: span_attribution=ambiguous",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 1, First: 1, Ambiguous: 2}); status != want {
		t.Errorf("%+v, want %+v", status, want)
	}
}

// TestNoTwins has records that differ in more than labels.
func TestNoTwins(t *testing.T) {
	m := newMessage()
	m.process(100,
		m.record(1, []uint64{1, 2}, "span_id", checkoutID),
		m.record(2, []uint64{3, 4}, "span_id", searchID),
	)
	if _, status := take(t, []message{m}); status.Witnessed != 0 || status.Ambiguous != 2 {
		t.Errorf("%+v, want 2 ambiguous samples", status)
	}
}

// TestTwinsOfAnotherAgent has twins on one connection, which are no witness for another.
func TestTwinsOfAnotherAgent(t *testing.T) {
	twins, other := newMessage(), newMessage()
	twins.process(100, twins.record(1, []uint64{3}, "span_id", checkoutID), twins.record(1, []uint64{5}, "span_id", searchID))
	other.process(100, other.record(1, []uint64{7, 8}, "span_id", checkoutID))
	r, err := New(new(exportertest.Recorder), lookup)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []message{twins, other} {
		if err := r.take(t.Context(), strconv.Itoa(i), m.ExportProfilesServiceRequest); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.Status(); s.Witnessed != 2 || s.First != 1 || s.Ambiguous != 1 {
		t.Errorf("%+v, want 2 witnessed, 1 first and 1 ambiguous", s)
	}
}

func TestLink(t *testing.T) {
	m := newMessage()
	m.Dictionary.LinkTable = append(m.Dictionary.LinkTable, &profilespb.Link{
		TraceId: []byte("\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36"),
		SpanId:  []byte("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"),
	})
	linked := m.record(1, []uint64{1, 2, 3}, "user", "ann")
	linked.LinkIndex = 1
	m.process(100, linked)
	span := "span_attribution=link span_id=" + checkoutID + " span_name=" + longName + " trace_id=" + traceID
	got, status := take(t, []message{m})
	want := []string{"2 frames, [1 10]: " + span + " user=ann", "2 frames, [2 20]: " + span}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 1, First: 1, Witnessed: 2}); status != want {
		t.Errorf("%+v, want %+v", status, want)
	}
}

// TestIDsWithoutPrefix has ids as attributes under their own names. They are not a Link:
// the agent may not tell records apart by them.
func TestIDsWithoutPrefix(t *testing.T) {
	m := newMessage()
	m.process(100, m.record(1, []uint64{1, 2}, "span_id", checkoutID))
	for _, a := range m.Dictionary.AttributeTable {
		if a.GetKeyStrindex() == m.text(labelPrefix+labelkey.SpanID) {
			a.KeyStrindex = m.text(labelkey.SpanID)
		}
	}
	got, status := take(t, []message{m})
	want := []string{
		"2 frames, [1 10]: span_attribution=ambiguous",
		"2 frames, [1 10]: span_attribution=first span_id=" + checkoutID + " span_name=" + longName + " trace_id=" + traceID,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 1, First: 1, Ambiguous: 1}); status != want {
		t.Errorf("%+v, want %+v", status, want)
	}
}

// timelineFunc is a Timelines.
type timelineFunc func(thread int64, at time.Time) (string, bool)

func (f timelineFunc) SpanAt(thread int64, at time.Time) (string, bool) { return f(thread, at) }

func (f timelineFunc) ThreadsOf(id string, at time.Time) []int64 {
	if on, known := f(7, at); known && on == id {
		return []int64{7}
	}
	return nil
}

func TestTimelines(t *testing.T) {
	m := newMessage()
	m.process(int64(os.Getpid()), m.record(1, []uint64{1, 2, 3, 4}, "span_id", checkoutID))
	got, status := take(t, []message{m}, WithTimelines(timelineFunc(func(thread int64, at time.Time) (string, bool) {
		if thread != 7 {
			t.Errorf("thread %d, want 7", thread)
		}
		switch at.UnixNano() {
		case 2:
			return searchID, true
		case 3:
			return "", true
		}
		return "", false
	})))
	want := []string{
		"2 frames, [1 10]:",
		"2 frames, [1 10]: profile_id=" + searchID + " span_attribution=timeline span_id=" + searchID + " span_name=search",
		"2 frames, [1 10]: span_attribution=ambiguous",
		"2 frames, [1 10]: span_attribution=first span_id=" + checkoutID + " span_name=" + longName + " trace_id=" + traceID,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Status{Messages: 1, First: 1, Placed: 2, Ambiguous: 1}); status != want {
		t.Errorf("%+v, want %+v", status, want)
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
		m.process(int64(os.Getpid()), m.record(1, []uint64{1, 2, 3}, labels...), m.record(2, []uint64{4, 5}, "span_id", searchID))
		_, status := take(t, []message{m}, WithTimelines(always))
		if want := (Status{Messages: 1, First: 2, Placed: 1, Ambiguous: 2}); status != want {
			t.Errorf("labels %q: %+v, want %+v", labels, status, want)
		}
	}
}

// TestThreadsOfNamespace finds which of the process's threads is meant by the agent's id.
func TestThreadsOfNamespace(t *testing.T) {
	at := func(n uint64) []uint64 { return []uint64{n, n + 100} }
	for name, test := range map[string]struct {
		timelines timelineFunc
		placed    int
	}{
		"one thread":          {func(thread int64, _ time.Time) (string, bool) { return searchID, thread == 7 }, 4},
		"too few samples":     {func(thread int64, at time.Time) (string, bool) { return searchID, thread == 7 && at.UnixNano()%100 < 2 }, 0},
		"on another as often": {func(int64, time.Time) (string, bool) { return searchID, true }, 0},
	} {
		m := newMessage()
		m.process(1<<40, m.record(1, at(1), "span_id", searchID), m.record(1, at(1), "span_id", searchID),
			m.record(1, at(2), "span_id", searchID), m.record(1, at(3), "span_id", searchID))
		_, status := take(t, []message{m}, WithTimelines(severalThreads{test.timelines}))
		if status.Placed != test.placed || status.Placed+status.Ambiguous != 4 {
			t.Errorf("%s: %+v, want %d of 4 samples placed", name, status, test.placed)
		}
	}
}

// Threads that are known by one connection's samples place nothing of another connection.
func TestThreadsOfAnotherConnection(t *testing.T) {
	on7 := timelineFunc(func(thread int64, _ time.Time) (string, bool) { return searchID, thread == 7 })
	r, err := New(new(exportertest.Recorder), lookup, WithTimelines(on7))
	if err != nil {
		t.Fatal(err)
	}
	for connection, want := range []int{3, 3, 4} { // placed; the last message is on connection 0
		m := newMessage()
		var records []*profilespb.Sample
		for i := range []int{3, 1, 1}[connection] {
			records = append(records, m.record(1, []uint64{uint64(i + 1), 100}, "span_id", searchID))
		}
		m.process(1<<40, records...)
		if err := r.take(t.Context(), strconv.Itoa(connection%2), m.ExportProfilesServiceRequest); err != nil {
			t.Fatal(err)
		}
		if s := r.Status(); s.Placed != want {
			t.Errorf("message %d: got %+v, want %d placed", connection, s, want)
		}
	}
}

// severalThreads is a timelineFunc of two threads.
type severalThreads struct{ timelineFunc }

func (s severalThreads) ThreadsOf(id string, at time.Time) (list []int64) {
	for _, thread := range []int64{7, 8} {
		if on, known := s.SpanAt(thread, at); known && on == id {
			list = append(list, thread)
		}
	}
	return list
}

func TestLabelsLost(t *testing.T) {
	m := newMessage()
	var labels []string
	for i := range 10 {
		labels = append(labels, fmt.Sprint("a", i), "x")
	}
	m.process(100, m.record(1, []uint64{1}, labels...), m.record(2, []uint64{2}, "span_id", checkoutID))
	if _, status := take(t, []message{m}); status.LabelsLost != 1 {
		t.Errorf("%+v, want 1 sample with labels lost", status)
	}
}

// What is remembered of agents is bounded.
func TestUseThreads(t *testing.T) {
	r, _ := newReceiver(t)
	for i := range 10 * maxConnections {
		r.useThreads(strconv.Itoa(i))
		if len(r.known) > maxConnections {
			t.Fatalf("got %d agents, want at most %d", len(r.known), maxConnections)
		}
	}
	var list []record
	for i := range int64(2*maxThreads + 1) {
		list = append(list, record{thread: i, labels: map[string]string{labelkey.SpanID: searchID}, timestamps: []uint64{1}})
	}
	p := decode.Timed{Profile: exporter.NewParsedProfile(exporter.Window{Resource: resource.Empty()}, nil)}
	r.threads.see(p, list, timelineFunc(func(int64, time.Time) (string, bool) { return searchID, true }))
	if n := len(r.threads.votes); n != 1 {
		t.Errorf("got %d threads, want 1 after %d", n, len(list))
	}
}
