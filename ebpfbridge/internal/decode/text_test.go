// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// validText reports whether all text of p is UTF-8: different texts may become
// the same otherwise.
func validText(p *profile.Profile) bool {
	texts := slices.Concat(p.Comments, []string{p.DefaultSampleType, p.DocURL, p.DropFrames, p.KeepFrames})
	for _, s := range p.Sample {
		texts = slices.AppendSeq(texts, maps.Keys(s.Label))
		texts = slices.AppendSeq(texts, maps.Keys(s.NumLabel))
		for _, v := range s.Label {
			texts = append(texts, v...)
		}
		for _, v := range s.NumUnit {
			texts = append(texts, v...)
		}
	}
	for _, f := range p.Function {
		texts = append(texts, f.Name, f.SystemName, f.Filename)
	}
	for _, m := range p.Mapping {
		texts = append(texts, m.File, m.BuildID)
	}
	for _, t := range p.SampleType {
		texts = append(texts, t.Type, t.Unit)
	}
	if t := p.PeriodType; t != nil {
		texts = append(texts, t.Type, t.Unit)
	}
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}
