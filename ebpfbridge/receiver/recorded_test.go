// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestRecorded places the samples of a stock agent, with and without timelines. The keyed ones
// are of an agent that separates records by labels, as in upstream's pull request 1790.
func TestRecorded(t *testing.T) {
	for _, load := range append(loads, "tight-keyed", "shared-keyed") {
		t.Run(load, func(t *testing.T) {
			truth, messages := recorded(t, load)
			sum, r, exported := truth.compare(t, messages)
			t.Log(sum)
			if sum.wrong != 0 || sum.right == 0 || sum.labelled != sum.right+sum.ambiguous+sum.unknown {
				t.Errorf("%v: want 0 wrong, and all samples counted", sum)
			}
			s := r.Status()
			if s.Placed+s.Refused+s.Failed+s.Other != 0 {
				t.Errorf("got %+v, want samples of the agent's labels alone", s)
			}
			checkExported(t, s, exported)
			if strings.HasSuffix(load, "keyed") {
				if s.Ambiguous+s.First != 0 {
					t.Errorf("got %+v, want all witnessed", s)
				}
				return
			}
			if s.Witnessed != 0 {
				t.Errorf("got %+v, want first samples and ambiguous ones", s)
			}
			sum, r, exported = truth.compare(t, messages, WithTimelines(truth))
			t.Logf("with timelines %v", sum)
			if s := r.Status(); sum.wrong != 0 || s.Placed == 0 {
				t.Errorf("with timelines: %v, %+v", sum, s)
			}
			if load == "kernel" {
				checkFramesOfKernel(t, exported)
			}
		})
	}
}

// checkExported checks that the exported profiles have every sample once.
func checkExported(t *testing.T, s Status, exported *exportertest.Recorder) {
	t.Helper()
	var certain, unclear int64
	for sample := range samplesOf(t, exported) {
		if slices.Equal(sample.Label[labelkey.SpanAttribution], []string{labelkey.Ambiguous}) {
			unclear += sample.Value[0]
		} else {
			certain += sample.Value[0]
		}
	}
	if certain != int64(s.First+s.Witnessed+s.Spanless) || unclear != int64(s.Ambiguous) {
		t.Errorf("exported %d certain and %d ambiguous samples, want %d and %d", certain, unclear, s.First+s.Witnessed+s.Spanless, s.Ambiguous)
	}
}

// checkFramesOfKernel wants most of the spans' time in the kernel.
func checkFramesOfKernel(t *testing.T, exported *exportertest.Recorder) {
	t.Helper()
	var kernel, all int64
	for s := range ofSpans(t, exported) {
		all += s.Value[0]
		if leaf := s.Location[0]; leaf.Mapping.File == exporter.KernelMapping && leaf.Line[0].Function.Name != "" {
			kernel += s.Value[0]
		}
	}
	t.Logf("%d of %d samples of spans end in a function of the kernel", kernel, all)
	if kernel*2 < all || all == 0 {
		t.Error("want most of them in the kernel")
	}
}

// ofSpans yields the exported samples that have a span.
func ofSpans(t *testing.T, exported *exportertest.Recorder) iter.Seq[*profile.Sample] {
	return func(yield func(*profile.Sample) bool) {
		for s := range samplesOf(t, exported) {
			if len(s.Label[labelkey.SpanID]) > 0 && !yield(s) {
				return
			}
		}
	}
}

// samplesOf yields the exported samples. Their profiles are valid.
func samplesOf(t *testing.T, exported *exportertest.Recorder) iter.Seq[*profile.Sample] {
	return func(yield func(*profile.Sample) bool) {
		for _, p := range exported.Profiles() {
			parsed, err := p.Parsed()
			if err == nil {
				err = parsed.CheckValid()
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range parsed.Sample {
				if !yield(s) {
					return
				}
			}
		}
	}
}
