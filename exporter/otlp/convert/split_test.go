// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// Every part's message is within the limit, and together they say what the whole
// one says, whatever the profile and the choices.
func TestSplit(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 20 {
		p := randomProfile(r)
		for range 200 + r.IntN(400) {
			p.Sample = append(p.Sample, randomSample(r, p, false, r.IntN(2) == 0))
		}
		opts := []convert.Option{convert.WithSpanIDs(pick(r, convert.Links, convert.Attributes, convert.LinksAndAttributes))}
		if r.IntN(2) == 0 {
			opts = append(opts, convert.WithCPUTime())
		}
		c, err := convert.New(opts...)
		if err != nil {
			t.Fatal(err)
		}
		maxSamples, maxBytes := 1000, 4<<10+r.IntN(32<<10)
		whole := exporter.NewParsedProfile(window, p)
		parts, err := c.Split(whole, maxSamples, maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			m, err := c.Request(part)
			if err != nil {
				t.Fatal(err)
			}
			if n := proto.Size(m); n > maxBytes {
				t.Errorf("seed %d, profile %d: a message of %d bytes, want at most %d", seed, i, n, maxBytes)
			}
		}
		if diff := cmp.Diff(sums(t, c, whole), sums(t, c, parts...)); diff != "" {
			t.Fatalf("seed %d, profile %d: sums (-want +got):\n%s", seed, i, diff)
		}
	}
}

// sums adds up the values that arrive, by stack and labels.
func sums(t *testing.T, c *convert.Converter, profiles ...*exporter.Profile) map[string][]int64 {
	t.Helper()
	sums := map[string][]int64{}
	for _, e := range profiles {
		m, err := c.Request(e)
		if err != nil {
			t.Fatal(err)
		}
		arrived, err := convert.Profiles(m)
		if err != nil {
			t.Fatal(err)
		}
		p, err := arrived[0].Parsed()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			key := sampleKey(s)
			if sums[key] == nil {
				sums[key] = make([]int64, 1+len(s.Value))
			}
			sums[key][0]++
			for i, v := range s.Value {
				sums[key][1+i] += v
			}
		}
	}
	return sums
}

func sampleKey(s *profile.Sample) string {
	var key strings.Builder
	for _, l := range s.Location {
		fmt.Fprint(&key, l.Address, l.IsFolded, len(l.Line))
		for _, line := range l.Line {
			fmt.Fprint(&key, line.Line, line.Column, line.Function.Name, line.Function.SystemName, line.Function.Filename, line.Function.StartLine)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Label)) {
		fmt.Fprint(&key, k, s.Label[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.NumLabel)) {
		fmt.Fprint(&key, k, s.NumLabel[k], s.NumUnit[k])
	}
	return key.String()
}

// largeProfile is of a service of 100 handlers.
func largeProfile(columns, samples int) *profile.Profile {
	r := rand.New(rand.NewPCG(1, 2))
	p := &profile.Profile{PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7}
	for i := range columns {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: fmt.Sprint("type", i), Unit: "count"})
	}
	p.Mapping = []*profile.Mapping{{ID: 1, File: "/bin/app"}}
	for i := range 3_000 {
		name := fmt.Sprintf("example.com/shop/internal/pkg%d.(*Service).Method%d", i/100, i)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: fmt.Sprintf("/src/shop/internal/pkg%d/service.go", i/100), StartLine: 3}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Address: uint64(i * 16), Mapping: p.Mapping[0], Line: []profile.Line{{Function: f, Line: 7}}})
	}
	for range samples {
		s := &profile.Sample{Label: map[string][]string{
			"span_id": {fmt.Sprintf("%016x", r.Uint64())}, "trace_id": {fmt.Sprintf("%032x", r.Uint64())}, "span_name": {fmt.Sprint("GET /", r.IntN(100))},
		}}
		handler := r.IntN(100) * 30
		for range 30 {
			s.Location = append(s.Location, p.Location[handler+r.IntN(30)])
		}
		for range columns {
			s.Value = append(s.Value, r.Int64N(1000))
		}
		s.Location = append(s.Location, p.Location[handler], p.Location[0])
		p.Sample = append(p.Sample, s)
	}
	return p
}

// No more messages than 1.2 times what the whole would need.
func TestNumberOfParts(t *testing.T) {
	for _, columns := range []int{1, 4} {
		c, err := convert.New()
		if err != nil {
			t.Fatal(err)
		}
		whole := exporter.NewParsedProfile(window, largeProfile(columns, 6_000))
		m, err := c.Request(whole)
		if err != nil {
			t.Fatal(err)
		}
		const limit = 192 << 10
		parts, err := c.Split(whole, 1_000_000, limit)
		if err != nil {
			t.Fatal(err)
		}
		least := float64(proto.Size(m)) / limit
		t.Logf("%d columns: %d bytes, %.2f times the limit: %d parts", columns, proto.Size(m), least, len(parts))
		if float64(len(parts)) > math.Ceil(1.2*least) {
			t.Errorf("%d parts, want at most 1.2 times %.2f", len(parts), least)
		}
	}
}
