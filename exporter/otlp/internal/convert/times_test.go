// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/internal/convert"
)

// timedProfile returns a CPU profile as Go makes it, with samples of these counts.
func timedProfile(counts []int64, times [][]int64) *exporter.Profile {
	f := &profile.Function{ID: 1, Name: "main.work", Filename: "main.go"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Function:   []*profile.Function{f},
	}
	for i, n := range counts {
		l := &profile.Location{ID: uint64(i + 1), Address: uint64(i + 1), Line: []profile.Line{{Function: f, Line: int64(i)}}}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{
			Location: []*profile.Location{l},
			Value:    []int64{n, n * 1e7},
			Label:    map[string][]string{"span_name": {"GET /"}},
			NumLabel: map[string][]int64{"bytes": {7}},
		})
	}
	return exporter.NewParsedProfile(window, p, times...)
}

// at returns moments of the window.
func at(ns ...int64) []int64 {
	for i := range ns {
		ns[i] += window.Start.UnixNano()
	}
	return ns
}

// columns returns the samples of each profile of a message.
func columns(m *collectorpb.ExportProfilesServiceRequest) (all [][]*profilespb.Sample) {
	for _, p := range m.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		all = append(all, p.Samples)
	}
	return all
}

func TestSampleTimestamps(t *testing.T) {
	start := uint64(window.Start.UnixNano())
	type want struct {
		values     []int64
		timestamps []uint64
	}
	for name, tt := range map[string]struct {
		counts []int64
		times  [][]int64
		config convert.Config
		want   [][]want
	}{
		"a timestamp for each": {
			[]int64{2, 1},
			[][]int64{at(5, 1), at(9)},
			convert.Config{Timestamps: true},
			[][]want{{{nil, []uint64{start + 5, start + 1}}, {nil, []uint64{start + 9}}}},
		},
		"with the CPU time": {
			[]int64{2, 1},
			[][]int64{at(5, 1), at(9)},
			convert.Config{Timestamps: true, CPUTime: true},
			[][]want{
				{{nil, []uint64{start + 5, start + 1}}, {nil, []uint64{start + 9}}},
				{{[]int64{2e7}, nil}, {[]int64{1e7}, nil}},
			},
		},
		"fewer timestamps than samples": {
			[]int64{7, 1},
			[][]int64{at(5, 1), at(9)},
			convert.Config{Timestamps: true},
			[][]want{{{[]int64{7}, nil}, {[]int64{1}, nil}}},
		},
		"no timestamp of one": {
			[]int64{2, 1},
			[][]int64{nil, at(9)},
			convert.Config{Timestamps: true},
			[][]want{{{[]int64{2}, nil}, {[]int64{1}, nil}}},
		},
		"before 1970": {
			[]int64{2},
			[][]int64{{5, -1}},
			convert.Config{Timestamps: true},
			[][]want{{{[]int64{2}, nil}}},
		},
		"by default": {
			[]int64{2},
			[][]int64{at(5, 1)},
			convert.Config{},
			[][]want{{{[]int64{2}, nil}}},
		},
		"of a profile without": {
			[]int64{2},
			nil,
			convert.Config{Timestamps: true},
			[][]want{{{[]int64{2}, nil}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := timedProfile(tt.counts, tt.times)
			m := request(t, p, tt.config)
			var got [][]want
			for _, samples := range columns(m) {
				var column []want
				for _, s := range samples {
					column = append(column, want{s.Values, s.TimestampsUnixNano})
				}
				got = append(got, column)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndedSpanID(t *testing.T) {
	p := timedProfile([]int64{1}, nil)
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	parsed.Sample[0].Label["ended_span_id"] = []string{"00000000000000bb"}
	for both, want := range map[bool]int{false: 2, true: 3} {
		m := request(t, p, convert.Config{SpanIDAttributes: both})
		if got := profilesOf(m)[0].Samples[0].AttributeIndices; len(got) != want {
			t.Errorf("%d attributes, want %d", len(got), want)
		}
	}
}
