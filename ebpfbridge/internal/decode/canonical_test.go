// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// canonical returns the content of a pprof profile, without the ids of its tables and entries
// without samples. It applies the losses of an OTLP message.
func canonical(p *profile.Profile) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, t := range p.SampleType {
		line("type %s %s", t.Type, t.Unit)
	}
	period := p.PeriodType
	if period == nil || period.Type == "" && period.Unit == "" {
		period = p.SampleType[0]
	}
	line("period %s %s %d, time %d, duration %d", period.Type, period.Unit, p.Period, p.TimeNanos, p.DurationNanos)
	line("default %s comments %s doc %s drop %s keep %s", quote(p.DefaultSampleType), quote(p.Comments...),
		quote(p.DocURL), quote(p.DropFrames), quote(p.KeepFrames))
	for _, m := range usedMappings(p) {
		line("mapping %s", mappingText(m))
	}
	for _, s := range p.Sample {
		line("sample %d", s.Value)
		for _, k := range slices.Sorted(maps.Keys(s.Label)) {
			line("  label %s = %s", quote(k), quote(s.Label[k]...))
		}
		for _, k := range slices.Sorted(maps.Keys(s.NumLabel)) {
			units := s.NumUnit[k]
			if len(units) == 0 {
				units = make([]string, len(s.NumLabel[k]))
			}
			line("  number %s = %d %s", quote(k), s.NumLabel[k], quote(units...))
		}
		for _, l := range s.Location {
			line("  at %#x folded %t in %s", l.Address, l.IsFolded, mappingText(l.Mapping))
			for _, f := range l.Line {
				line("    %s %s %s:%d line %d column %d", quote(f.Function.Name), quote(f.Function.SystemName), quote(f.Function.Filename),
					f.Function.StartLine, f.Line, f.Column)
			}
		}
	}
	return b.String()
}

// quote returns texts as protobuf can hold them.
func quote(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		fmt.Fprintf(&b, "%q", strings.ToValidUTF8(t, "\uFFFD"))
	}
	return b.String()
}

func usedMappings(p *profile.Profile) []*profile.Mapping {
	used := map[*profile.Mapping]bool{}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if mappingText(l.Mapping) != mappingText(nil) {
				used[l.Mapping] = true
			}
		}
	}
	var mappings []*profile.Mapping
	for _, m := range p.Mapping {
		same := func(before *profile.Mapping) bool { return mappingText(before) == mappingText(m) }
		if used[m] && !slices.ContainsFunc(mappings, same) {
			mappings = append(mappings, m)
		}
	}
	return mappings
}

// mappingText is the same for an empty mapping and for none.
func mappingText(m *profile.Mapping) string {
	m = cmp.Or(m, new(profile.Mapping))
	return fmt.Sprintf("%#x-%#x+%#x %s build %s %t %t %t %t", m.Start, m.Limit, m.Offset, quote(m.File), quote(m.BuildID),
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames)
}

// reread returns p as pprof itself writes and reads it.
func reread(t testing.TB, p *profile.Profile) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := profile.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return again
}
