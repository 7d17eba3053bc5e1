// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// slice is a line of what internal/integration/ebpftarget prints: what a thread ran.
type slice struct {
	Thread     int64
	Span, Name string
	Start, End int64
	CPU        time.Duration
}

// truth is what a target ran.
type truth []slice

func readTruth(r io.Reader) (truth, error) {
	var t truth
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var s slice
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, err
		}
		t = append(t, s)
	}
	return t, nil
}

// lookup is a Lookup.
func (t truth) lookup(id string) (name, traceID string, ok bool) {
	for _, s := range t {
		if s.Span != "" && s.Span == id {
			return s.Name, "", true
		}
	}
	return "", "", false
}

// at returns the span that a thread ran, or "" for none. known is false where a span
// began or ended, and where the target did not look.
func (t truth) at(thread int64, at uint64) (id string, known bool) {
	for _, s := range t {
		if s.Thread == thread && s.Start <= int64(at) && int64(at) <= s.End {
			return s.Span, true
		}
	}
	return "", false
}

// score compares placements with the truth, in samples.
type score struct {
	labelled            int // those in records with the labels of a span
	right, wrong        int // those that were given a span
	ambiguous, unknown  int
	asSentRight, asSent int // when all of a record's samples have its labels
}

func (s score) String() string {
	return fmt.Sprintf("%5d labelled: %5d right %3d wrong %5d ambiguous %3d at an edge; by the records' labels alone %5d of %5d wrong",
		s.labelled, s.right, s.wrong, s.ambiguous, s.unknown, s.asSent-s.asSentRight, s.asSent)
}

// compare places the samples of messages as take does, and compares.
func (t truth) compare(tb testing.TB, messages []*collectorpb.ExportProfilesServiceRequest, opts ...Option) (score, *Receiver, *exportertest.Recorder) {
	tb.Helper()
	var sum score
	exported := new(exportertest.Recorder)
	r, err := New(exported, t.lookup, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	placing, err := New(new(exportertest.Recorder), t.lookup, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	r.pid = t.pid(tb, messages)
	for _, m := range messages {
		profiles, err := decode.Profiles(m, maxMemory)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range profiles {
			if pidOf(p) != r.pid {
				continue
			}
			list, rules := records(p)
			keyed := placing.agents.Keyed("connection", rules)
			spans := placing.haveSpans("connection", r.pid, list)
			for _, rec := range list {
				placed := []placed{rec.slice(0, len(rec.Timestamps))}
				if spans {
					placed = placing.place(rec, keyed, new(Status))
				}
				t.compareRecord(&sum, rec, placed)
			}
		}
		if err := r.take(tb.Context(), "connection", m); err != nil {
			tb.Fatal(err)
		}
	}
	return sum, r, exported
}

func pidOf(p decode.Profile) int64 {
	v, _ := p.Resource.Set().Value("process.pid")
	return v.AsInt64()
}

// pid returns the agent's id of the target: of the process with the target's spans.
func (t truth) pid(tb testing.TB, messages []*collectorpb.ExportProfilesServiceRequest) int64 {
	tb.Helper()
	for _, m := range messages {
		profiles, err := decode.Profiles(m, maxMemory)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range profiles {
			list, _ := records(p)
			for _, rec := range list {
				if _, _, ok := t.lookup(rec.rule.Labels[labelkey.SpanID]); ok {
					return pidOf(p)
				}
			}
		}
	}
	return 0
}

func (t truth) compareRecord(sum *score, rec record, list []placed) {
	sent := rec.rule.Labels[labelkey.SpanID]
	for _, p := range list {
		for _, at := range p.at {
			id, known := t.at(rec.thread, at)
			if sent != "" {
				sum.labelled++
			}
			if sent != "" && known {
				sum.asSent++
				if sent == id {
					sum.asSentRight++
				}
			}
			switch got := p.labels[labelkey.SpanID]; {
			case p.labels[labelkey.SpanAttribution] == labelkey.Ambiguous:
				if sent != "" {
					sum.ambiguous++
				}
			case got == "":
			case !known:
				sum.unknown++
			case got == id:
				sum.right++
			default:
				sum.wrong++
			}
		}
	}
}

// SpanAt makes truth Timelines.
func (t truth) SpanAt(thread int64, at time.Time) (id string, known bool) {
	return t.at(thread, uint64(at.UnixNano()))
}
