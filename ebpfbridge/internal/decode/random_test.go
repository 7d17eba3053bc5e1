// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/google/pprof/profile"
)

// randomProfile returns a valid profile that uses all of pprof.
func randomProfile(r *rand.Rand) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		TimeNanos:  r.Int64N(1e18), DurationNanos: r.Int64N(1e12),
	}
	for i := range r.IntN(4) {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: pick(r, "cpu", "alloc_space", "wall") + strconv.Itoa(i), Unit: pick(r, "nanoseconds", "bytes", "")})
	}
	if r.IntN(3) > 0 {
		p.PeriodType, p.Period = &profile.ValueType{Type: pick(r, "cpu", "space"), Unit: pick(r, "nanoseconds", "bytes")}, r.Int64N(1e7)
	}
	derived := r.IntN(3) == 0
	if derived {
		p.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
		p.PeriodType, p.Period = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, 1e7
	}
	if r.IntN(2) == 0 {
		p.DefaultSampleType, p.DocURL, p.DropFrames, p.KeepFrames = "samples", "https://example.com", "drop.*", "keep.*"
		p.Comments = []string{"one", pick(r, "two", "one", "\xff")}
	}
	for i := range 1 + r.IntN(3) {
		p.Mapping = append(p.Mapping, &profile.Mapping{
			ID: uint64(10 + i), Start: uint64(i) << 20, Limit: uint64(i+1) << 20, Offset: r.Uint64N(1e6),
			File: pick(r, "/bin/app", "[vdso]", "/lib/libc.so.6", ""), BuildID: pick(r, "", "c89b11207f6479603b0d49bf291c092c2b719293", "foh3mEX/kATcX/WwRF/x8hM"),
			HasFunctions: r.IntN(2) == 0, HasFilenames: r.IntN(2) == 0, HasLineNumbers: r.IntN(2) == 0, HasInlineFrames: r.IntN(2) == 0,
		})
	}
	for i := range 1 + r.IntN(6) {
		p.Function = append(p.Function, &profile.Function{
			ID: uint64(100 + i), Name: pick(r, "main.main", "main.(*T[...]).f", "größer"), SystemName: pick(r, "main.main", ""),
			Filename: pick(r, "main.go", "bad\xff.go"), StartLine: r.Int64N(4),
		})
	}
	for i := range 1 + r.IntN(10) {
		l := &profile.Location{ID: uint64(1 + i*3), Address: r.Uint64N(4), IsFolded: r.IntN(5) == 0}
		if r.IntN(4) > 0 {
			l.Mapping = pick(r, p.Mapping...)
		}
		for range r.IntN(4) {
			l.Line = append(l.Line, profile.Line{Function: pick(r, p.Function...), Line: r.Int64N(5), Column: r.Int64N(2)})
		}
		p.Location = append(p.Location, l)
	}
	withProfileID := r.IntN(2) == 0
	for range r.IntN(30) {
		p.Sample = append(p.Sample, randomSample(r, p, derived, withProfileID))
	}
	return p
}

func randomSample(r *rand.Rand, p *profile.Profile, derived, withProfileID bool) *profile.Sample {
	s := &profile.Sample{Value: make([]int64, len(p.SampleType))}
	for i := range s.Value {
		s.Value[i] = r.Int64N(1000) - 100
	}
	if derived {
		s.Value[1] = s.Value[0] * p.Period
	}
	for range r.IntN(6) {
		s.Location = append(s.Location, pick(r, p.Location...))
	}
	labels := map[string][]string{}
	if r.IntN(3) > 0 {
		trace, span := fmt.Sprintf("%032x", 1+r.IntN(3)), fmt.Sprintf("%016x", 1+r.IntN(9))
		labels["trace_id"], labels["span_id"] = []string{trace}, []string{span}
		if withProfileID {
			labels["profile_id"] = []string{span}
		}
	}
	switch r.IntN(8) { // ids that no Link can hold
	case 0:
		labels["span_id"] = []string{pick(r, "0000000000000000", "000000000000ABCD", "short", "notHexadecimal!!")}
	case 1:
		labels["trace_id"] = []string{"00000000000000000000000000000001", "00000000000000000000000000000002"}
	case 2:
		delete(labels, "trace_id")
	case 3:
		labels["profile_id"] = []string{pick(r, "order-4711", "00000000000000aa")}
	}
	if r.IntN(2) == 0 {
		labels["span_name"] = []string{pick(r, "GET /", "größer", "\xc3")}
	}
	if r.IntN(5) == 0 {
		labels["several"] = []string{"a", "b", "a"}
	}
	if len(labels) > 0 {
		s.Label = labels
	}
	if r.IntN(3) == 0 {
		s.NumLabel = map[string][]int64{"bytes": {r.Int64N(100) + 1}}
		s.NumUnit = map[string][]string{"bytes": {"bytes"}}
		if r.IntN(2) == 0 {
			s.NumLabel["bytes"], s.NumUnit["bytes"] = []int64{1, 2, 3}, []string{"bytes", pick(r, "", "bytes", "kilobytes"), "bytes"}
		}
		if r.IntN(3) == 0 { // one key with text and numbers
			s.NumLabel["span_name"] = []int64{7}
		}
		if r.IntN(5) == 0 {
			s.NumLabel["span_id"] = []int64{7}
		}
	}
	return s
}

func pick[E any](r *rand.Rand, elems ...E) E { return elems[r.IntN(len(elems))] }
