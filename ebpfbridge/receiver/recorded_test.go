// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// loads are the loads of internal/integration/ebpftarget.
var loads = []string{"tight", "json", "cgo", "kernel", "shared"}

// recorded returns what TestLive recorded of a load: a stock agent's messages, and
// what the target ran.
func recorded(tb testing.TB, load string) (truth, []*collectorpb.ExportProfilesServiceRequest) {
	tb.Helper()
	open := func(name string) io.Reader {
		f, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = f.Close() })
		r, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		return r
	}
	t, err := readTruth(open(load + ".json.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	var messages []*collectorpb.ExportProfilesServiceRequest
	for r := bufio.NewReader(open(load + ".pb.gz")); ; {
		m := new(collectorpb.ExportProfilesServiceRequest)
		err := protodelim.UnmarshalOptions{MaxSize: maxMessage}.UnmarshalFrom(r, m)
		if errors.Is(err, io.EOF) {
			return t, messages
		}
		if err != nil {
			tb.Fatal(err)
		}
		messages = append(messages, m)
	}
}

func TestRecorded(t *testing.T) {
	for _, load := range loads {
		t.Run(load, func(t *testing.T) {
			truth, messages := recorded(t, load)
			sum, r, exported := truth.compare(t, messages)
			t.Log(sum)
			if sum.wrong != 0 || sum.right == 0 || sum.labelled != sum.right+sum.ambiguous+sum.unknown {
				t.Errorf("%v: want none wrong, and none left out", sum)
			}
			s := r.Status()
			if s.Placed+s.Witnessed+s.Refused+s.Failed+s.Other+s.LabelsLost != 0 {
				t.Errorf("%+v: a stock agent's samples are first ones or ambiguous", s)
			}
			checkExported(t, truth, s, exported)
		})
	}
}

// TestRecordedKeyed has the messages of an agent that separates records by their labels, as in
// upstream's pull request 1790.
func TestRecordedKeyed(t *testing.T) {
	for _, load := range []string{"tight-keyed", "shared-keyed"} {
		truth, messages := recorded(t, load)
		sum, r, _ := truth.compare(t, messages)
		t.Logf("%-12s %v", load, sum)
		if s := r.Status(); sum.wrong != 0 || sum.ambiguous != 0 || sum.right == 0 || s.Ambiguous+s.First != 0 {
			t.Errorf("%s: %v, %+v, want all witnessed", load, sum, s)
		}
	}
}

// TestRecordedTimelines places the same samples by what ran on their threads.
func TestRecordedTimelines(t *testing.T) {
	for _, load := range loads {
		truth, messages := recorded(t, load)
		sum, r, _ := truth.compare(t, messages, WithTimelines(timelines{truth}))
		t.Logf("%-7s %v", load, sum)
		if s := r.Status(); sum.wrong != 0 || s.Placed == 0 {
			t.Errorf("%s: %v, %+v", load, sum, s)
		}
	}
}

// checkExported checks that the exported profiles have every sample once, and names
// in full.
func checkExported(t *testing.T, truth truth, s Status, exported *exportertest.Recorder) {
	t.Helper()
	var certain, unclear int64
	for _, p := range exported.Profiles() {
		parsed, err := p.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		if err := parsed.CheckValid(); err != nil {
			t.Error(err)
		}
		if p.Kind() != exporter.KindHost {
			t.Errorf("kind %s, want host", p.Kind())
		}
		for _, sample := range parsed.Sample {
			if sample.Value[1] != sample.Value[0]*parsed.Period {
				t.Errorf("values %d with a period of %d", sample.Value, parsed.Period)
			}
			if slices.Equal(sample.Label[labelkey.SpanAttribution], []string{labelkey.Ambiguous}) {
				unclear += sample.Value[0]
				if len(sample.Label) != 1 {
					t.Errorf("an ambiguous sample has the labels %v", sample.Label)
				}
				continue
			}
			certain += sample.Value[0]
			if id := sample.Label[labelkey.SpanID]; len(id) > 0 {
				if span, ok := truth.lookup(id[0]); !ok || !slices.Equal(sample.Label[labelkey.SpanName], []string{span.Name}) {
					t.Errorf("span %s has the name %q, want %q", id, sample.Label[labelkey.SpanName], span.Name)
				}
			}
		}
	}
	if certain != int64(s.First+s.Spanless) || unclear != int64(s.Ambiguous) {
		t.Errorf("exported %d certain and %d ambiguous samples, want %d and %d", certain, unclear, s.First+s.Spanless, s.Ambiguous)
	}
}

// TestRecordedKernel finds the kernel's work in the span that caused it.
func TestRecordedKernel(t *testing.T) {
	truth, messages := recorded(t, "kernel")
	_, _, exported := truth.compare(t, messages, WithTimelines(timelines{truth}))
	kernel, all := 0, 0
	for s := range ofSpans(t, exported) {
		all++
		leaf := s.Location[0]
		if leaf.Mapping.File == exporter.KernelMapping && leaf.Line[0].Function.Name != "" {
			kernel++
		}
	}
	if kernel*2 < all {
		t.Errorf("%d of %d stacks of spans end in a function of the kernel, want most", kernel, all)
	}
}

// ofSpans yields the exported samples that have a span.
func ofSpans(tb testing.TB, exported *exportertest.Recorder) func(func(*profile.Sample) bool) {
	return func(yield func(*profile.Sample) bool) {
		for _, p := range exported.Profiles() {
			parsed, err := p.Parsed()
			if err != nil {
				tb.Fatal(err)
			}
			for _, s := range parsed.Sample {
				if len(s.Label[labelkey.SpanID]) > 0 && !yield(s) {
					return
				}
			}
		}
	}
}
