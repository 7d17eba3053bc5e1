// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"slices"

	"github.com/google/pprof/profile"
)

// Pprof returns the sizes of pprof's uncompressed form.
func Pprof(p *profile.Profile) Sizes {
	return &pprofSizes{profile: p, tables: NewTables(p)}
}

type pprofSizes struct {
	profile *profile.Profile
	tables  *Tables
}

func (z *pprofSizes) Header() int {
	const numbers = 11 // a field with a number of any size
	z.tables.Next()
	p := z.profile
	n := 2 + 3*numbers // the empty text, the times and the period
	types := p.SampleType
	if p.PeriodType != nil {
		types = append(slices.Clip(types), p.PeriodType)
	}
	for _, t := range types {
		n += Bytes(2*z.tables.Index()) + z.tables.Text(t.Type) + z.tables.Text(t.Unit)
	}
	for _, m := range p.Mapping {
		n += Bytes(4*numbers+2*z.tables.Index()+8) + z.tables.Text(m.File) + z.tables.Text(m.BuildID)
	}
	for _, text := range append(slices.Clip(p.Comments), p.DefaultSampleType, p.DocURL, p.DropFrames, p.KeepFrames) {
		n += z.tables.Index() + 1 + z.tables.Text(text) // 1 for the tag, if that is of two bytes
	}
	return n
}

func (z *pprofSizes) Add(s *profile.Sample) int {
	added, ids, values, body := 0, 0, 0, 0
	for _, l := range s.Location {
		n, _ := z.tables.Location(l)
		added += n
		ids += Varint(l.ID)
	}
	for _, v := range s.Value {
		values += Varint(uint64(v))
	}
	for key, texts := range s.Label {
		added += z.tables.Text(key)
		for _, text := range texts {
			added += z.tables.Text(text)
			body += Bytes(2 * z.tables.Index())
		}
	}
	for key, numbers := range s.NumLabel {
		added += z.tables.Text(key)
		for _, n := range numbers {
			body += Bytes(2*z.tables.Index() + Field(uint64(n)))
		}
		for _, unit := range s.NumUnit[key] {
			added += z.tables.Text(unit)
		}
	}
	return added + Bytes(Bytes(ids)+Bytes(values)+body)
}
