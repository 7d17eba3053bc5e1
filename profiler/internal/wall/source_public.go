// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

var _ source = (*publicSource)(nil)

// publicSource takes a round by runtime/pprof's goroutine profile, which it has
// to write and this has to parse again: about 7 us for each goroutine, whether
// it has labels or not.
type publicSource struct {
	all     bool
	encoded bytes.Buffer
	samples []*profile.Sample   // of the last look
	seen    map[uintptr][]frame // addresses in the profiles so far: bounded by the program's code
}

func newPublicSource(all bool) *publicSource {
	return &publicSource{all: all, seen: make(map[uintptr][]frame)}
}

func (*publicSource) name() string { return "public" }

func (*publicSource) priorCost() float64 { return 25_000 }

func (s *publicSource) look() error {
	s.encoded.Reset()
	if err := pprof.Lookup("goroutine").WriteTo(&s.encoded, 0); err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	p, err := profile.ParseData(s.encoded.Bytes())
	if err != nil {
		return fmt.Errorf("goroutine profile: %w", err)
	}
	s.samples = p.Sample
	return nil
}

func (s *publicSource) visit(found func(stack []uintptr, labels []label, count int64)) {
	// Where there is not room for all, it is not always the last that are left out.
	rand.Shuffle(len(s.samples), func(i, j int) { s.samples[i], s.samples[j] = s.samples[j], s.samples[i] })
	for _, sample := range s.samples {
		labels := labelsOf(sample)
		if len(sample.Value) == 0 || !s.all && !ofSpan(labels) {
			continue
		}
		stack := make([]uintptr, len(sample.Location))
		for i, l := range sample.Location {
			stack[i] = uintptr(l.Address)
			if _, ok := s.seen[stack[i]]; !ok {
				s.seen[stack[i]] = framesOf(l)
			}
		}
		found(stack, labels, sample.Value[0])
	}
	s.samples = nil
}

func labelsOf(s *profile.Sample) []label {
	labels := make([]label, 0, len(s.Label))
	for key, values := range s.Label {
		for _, v := range values {
			labels = append(labels, label{Key: key, Value: v})
		}
	}
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.Key, b.Key) })
	return labels
}

func framesOf(l *profile.Location) []frame {
	frames := make([]frame, 0, len(l.Line))
	for _, line := range l.Line {
		if f := line.Function; f != nil && !silent(f.Name) {
			frames = append(frames, frame{Function: f.Name, File: f.Filename, Line: line.Line, StartLine: f.StartLine})
		}
	}
	return frames
}

func (*publicSource) split([]uintptr) int { return 1 }

func (s *publicSource) frames(location []uintptr) []frame { return s.seen[location[0]] }
