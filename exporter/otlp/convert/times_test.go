// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
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
		opts   []convert.Option
		want   [][]want
	}{
		"a timestamp for each": {
			[]int64{2, 1},
			[][]int64{at(5, 1), at(9)},
			[]convert.Option{convert.WithSampleTimestamps()},
			[][]want{{{nil, []uint64{start + 5, start + 1}}, {nil, []uint64{start + 9}}}},
		},
		"with the CPU time": {
			[]int64{2, 1},
			[][]int64{at(5, 1), at(9)},
			[]convert.Option{convert.WithSampleTimestamps(), convert.WithCPUTime()},
			[][]want{
				{{nil, []uint64{start + 5, start + 1}}, {nil, []uint64{start + 9}}},
				{{[]int64{2e7}, nil}, {[]int64{1e7}, nil}},
			},
		},
		"fewer timestamps than samples": {
			[]int64{7, 1},
			[][]int64{at(5, 1), at(9)},
			[]convert.Option{convert.WithSampleTimestamps()},
			[][]want{{{[]int64{7}, nil}, {[]int64{1}, nil}}},
		},
		"no timestamp of one": {
			[]int64{2, 1},
			[][]int64{nil, at(9)},
			[]convert.Option{convert.WithSampleTimestamps()},
			[][]want{{{[]int64{2}, nil}, {[]int64{1}, nil}}},
		},
		"before 1970": {
			[]int64{2},
			[][]int64{{5, -1}},
			[]convert.Option{convert.WithSampleTimestamps()},
			[][]want{{{[]int64{2}, nil}}},
		},
		"by default": {
			[]int64{2},
			[][]int64{at(5, 1)},
			nil,
			[][]want{{{[]int64{2}, nil}}},
		},
		"of a profile without": {
			[]int64{2},
			nil,
			[]convert.Option{convert.WithSampleTimestamps()},
			[][]want{{{[]int64{2}, nil}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := timedProfile(tt.counts, tt.times)
			m := request(t, p, tt.opts...)
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
			// The sums are those of the profile, and it waits in bytes with its times.
			back, err := convert.Profiles(m)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := p.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := back[0].Parsed()
			if err != nil {
				t.Fatal(err)
			}
			decoded.TimeNanos, decoded.DurationNanos = 0, 0 // those of the window
			if diff := cmp.Diff(strings.Split(canonical(parsed), "\n"), strings.Split(canonical(decoded), "\n")); diff != "" {
				t.Errorf("(-pprof +after OTLP):\n%s", diff)
			}
			waited := request(t, inBytes(t, p, tt.opts...), tt.opts...)
			if !proto.Equal(m, waited) {
				t.Errorf("(-message +of bytes):\n%s", cmp.Diff(m.String(), waited.String()))
			}
		})
	}
}

// inBytes returns p as a queue holds it.
func inBytes(t *testing.T, p *exporter.Profile, opts ...convert.Option) *exporter.Profile {
	t.Helper()
	c, err := convert.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.KeepTimes(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := kept.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	return exporter.NewProfile(window, b)
}

// TestTimesOfOtherOptions has bytes with times that a converter without the option sends.
func TestTimesOfOtherOptions(t *testing.T) {
	p := timedProfile([]int64{2}, [][]int64{at(1, 2)})
	m := request(t, inBytes(t, p, convert.WithSampleTimestamps()))
	if want := request(t, p); !proto.Equal(want, m) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want.String(), m.String()))
	}
}

// TestProfilesKnowTimes decodes both forms.
func TestProfilesKnowTimes(t *testing.T) {
	m := fromAgent()
	m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0].Values = []int64{4, 3, 2}
	m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[1].Values = []int64{1}
	profiles, err := convert.Profiles(m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int64{{7, 8, 9}, {5}}, profiles[0].SampleTimes()); diff != "" {
		t.Errorf("with values (-want +got):\n%s", diff)
	}
	if parsed, err := profiles[0].Parsed(); err != nil || parsed.Sample[0].Value[0] != 9 {
		t.Errorf("with values: %v, %v", parsed, err)
	}
	m = fromAgent()
	m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[1].TimestampsUnixNano[0] = math.MaxUint64
	if profiles, err = convert.Profiles(m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int64{{7, 8, 9}, {math.MaxInt64}}, profiles[0].SampleTimes()); diff != "" {
		t.Errorf("without values (-want +got):\n%s", diff)
	}
	if profiles, err = convert.Profiles(request(t, timedProfile([]int64{1}, nil))); err != nil || profiles[0].SampleTimes() != nil {
		t.Errorf("times %v of a message without, %v", profiles[0].SampleTimes(), err)
	}
}

// TestSplitKeepsTimes cuts a profile whose messages are large for their timestamps.
func TestSplitKeepsTimes(t *testing.T) {
	var counts []int64
	var times [][]int64
	for i := range 100 {
		var of []int64
		for k := range i + 1 {
			of = append(of, int64(1000*i+k))
		}
		counts, times = append(counts, int64(i+1)), append(times, at(of...))
	}
	const maxBytes = 4 << 10
	for _, opts := range [][]convert.Option{{convert.WithSampleTimestamps()}, {convert.WithSampleTimestamps(), convert.WithCPUTime()}} {
		c, err := convert.New(opts...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*exporter.Profile{timedProfile(counts, times), inBytes(t, timedProfile(counts, times), opts...)} {
			parts, err := c.Split(p, 1000, maxBytes)
			if err != nil {
				t.Fatal(err)
			}
			got := map[uint64]int{}
			for _, part := range parts {
				m := request(t, part, opts...)
				if n := proto.Size(m); n > maxBytes && len(columns(m)[0]) > 1 {
					t.Errorf("a part of %d bytes, want at most %d", n, maxBytes)
				}
				for _, s := range columns(m)[0] {
					for _, at := range s.TimestampsUnixNano {
						got[at]++
					}
				}
			}
			if len(parts) < 8 || len(got) != 100*101/2 {
				t.Errorf("%d different timestamps in %d parts, want %d in 8 or more", len(got), len(parts), 100*101/2)
			}
		}
	}
}

// TestEndedSpanID is sent where ids are attributes alone.
func TestEndedSpanID(t *testing.T) {
	p := timedProfile([]int64{1}, nil)
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	parsed.Sample[0].Label["ended_span_id"] = []string{"00000000000000bb"}
	for ids, want := range map[convert.SpanIDs]int{convert.Links: 0, convert.Attributes: 1, convert.LinksAndAttributes: 1} {
		profiles, err := convert.Profiles(request(t, p, convert.WithSpanIDs(ids)))
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := profiles[0].Parsed()
		if err != nil {
			t.Fatal(err)
		}
		if got := decoded.Sample[0].Label["ended_span_id"]; len(got) != want {
			t.Errorf("%v: ended_span_id %v", ids, got)
		}
	}
}

// BenchmarkTimestampBytes reports what timestamps add to a message.
func BenchmarkTimestampBytes(b *testing.B) {
	var counts []int64
	var times [][]int64
	for i := range 1000 {
		counts = append(counts, 1)
		times = append(times, at(int64(i)*int64(10*time.Millisecond)+int64(i*7919%100000)))
	}
	p := timedProfile(counts, times)
	for name, opts := range map[string][]convert.Option{"without": nil, "with": {convert.WithSampleTimestamps()}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(proto.Size(request(b, p, opts...)))/1000, "B/sample")
			}
		})
	}
}
