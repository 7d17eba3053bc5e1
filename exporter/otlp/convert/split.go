// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
)

// Split returns profiles of at most maxSamples samples, whose messages take at most
// maxBytes uncompressed, that have the samples of p, each of them once: p alone, if
// it is small enough. A sample that is too large by itself stays as it is. The error
// says why p is no valid pprof profile.
func (c *Converter) Split(p *exporter.Profile, maxSamples, maxBytes int) ([]*exporter.Profile, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return nil, err
	}
	w := exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}
	header, err := c.Request(exporter.NewParsedProfile(w, split.WithSamples(parsed, nil)))
	if err != nil {
		return nil, err
	}
	columns := len(parsed.SampleType)
	if !c.config.cpuTime && derivesCPUTime(parsed) {
		columns = 1
	}
	return split.Profile(p, &sizes{
		labels:     newLabelEncoder(c.config.spanIDs, nil, parsed),
		profile:    parsed,
		header:     proto.Size(header),
		columns:    columns,
		number:     split.Field(uint64(len(parsed.Sample))),
		tables:     split.NewTables(parsed),
		timestamps: c.config.timestamps,
		times:      split.Times(p, parsed),
		links:      map[linkKey]int{},
		attributes: map[[2]string]int{},
	}, split.Limits{Samples: maxSamples, Bytes: maxBytes})
}

// sizes adds up the bytes of a message as the encoder would write it.
type sizes struct {
	labels  labelEncoder
	profile *profile.Profile
	header  int // of a message without samples
	columns int
	number  int // of a field that numbers samples, stacks or links, at most

	timestamps bool // are sent
	times      map[*profile.Sample][]int64

	tables     *split.Tables
	part       int
	links      map[linkKey]int // the last part that has one
	attributes map[[2]string]int
	stack      []*profile.Location // of the sample before
}

func (z *sizes) Header() int {
	const (
		nesting = 64 // lengths of the messages around the samples, which grow with them
		scope   = 64 // linkProfileIDKey, which depends on the samples
		mapping = 512
	)
	z.tables.Next()
	z.part++
	z.stack = nil
	n := nesting + scope + z.header
	for _, m := range z.profile.Mapping {
		n += mapping + z.tables.Text(m.File) + z.tables.Text(m.BuildID)
	}
	return n
}

func (z *sizes) Add(s *profile.Sample) int {
	added := 0
	times := z.times[s]
	if labelled := s.NumLabel[timesLabel]; times == nil {
		times = labelled
	}
	if !z.timestamps {
		times = nil
	}
	if indices := 0; z.stack == nil || !slices.Equal(z.stack, s.Location) {
		for _, l := range s.Location {
			// Beyond what pprof has: the frame's type, and indices that
			// are longer than pprof's ids.
			n, number := z.tables.Location(l)
			if n > 0 {
				n += 8 + 3*len(l.Line)
			}
			added += n
			indices += split.Varint(uint64(number))
		}
		added += split.Bytes(split.Bytes(indices))
		z.stack = s.Location
	}
	sample := z.number // the stack's
	k, linked := linkOf(s)
	if linked = linked && z.labels.spanIDs != Attributes; linked {
		sample += z.number
		if z.links[k] != z.part {
			z.links[k] = z.part
			added += split.Bytes(split.Bytes(len(k.traceID)) + split.Bytes(len(k.spanID)))
		}
	}
	attributes := 0
	for key := range s.Label {
		if (!linked || !z.labels.inLink(key)) && !z.labels.leftOut(key) {
			added += z.attribute(key, s)
			attributes += z.tables.Index()
		}
	}
	for key := range s.NumLabel {
		if _, both := s.Label[key]; !both && key != timesLabel {
			added += z.attribute(key, s)
			attributes += z.tables.Index()
		}
	}
	for _, v := range s.Value[:z.columns] {
		// Either the value or the timestamps: which of them depends on all samples.
		added += split.Bytes(sample + split.Bytes(attributes) + split.Bytes(max(split.Varint(uint64(v)), 8*len(times))))
	}
	return added
}

// attribute returns the bytes that the label adds to the tables.
func (z *sizes) attribute(key string, s *profile.Sample) int {
	texts, numbers := s.Label[key], s.NumLabel[key]
	if len(texts) == 1 && len(numbers) == 0 {
		k := [2]string{key, texts[0]}
		if z.attributes[k] == z.part {
			return 0
		}
		z.attributes[k] = z.part
	}
	const number = 48 // with its unit in a map, as labelValue writes it
	value := 0
	for _, text := range texts {
		value += split.Bytes(split.Bytes(len(validUTF8(text))))
	}
	for i := range numbers {
		value += number
		if i < len(s.NumUnit[key]) {
			value += 2*len(validUTF8(s.NumUnit[key][i])) + 8
		}
	}
	return z.tables.Text(key) + split.Bytes(2*z.tables.Index()+split.Bytes(split.Bytes(value)))
}
