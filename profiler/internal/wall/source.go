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

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

type (
	label = goruntime.Label
	frame = goruntime.Frame
)

// source looks at all goroutines.
type source interface {
	// priorCost is the cost of a look for each goroutine, in nanoseconds of CPU, before any
	// has been measured. It is about three times the cost on a fast machine.
	priorCost() float64
	// look finds out where all goroutines are now.
	look() error
	// visit calls found for goroutines that the last look found with a span's labels. It may
	// sum equal ones to a count. The slices must not be changed, and may be kept.
	visit(found func(stack []uintptr, labels []label, count int64))
	// split returns how many addresses at the leaf of a stack are one location of a profile. The
	// stack is not empty.
	split(stack []uintptr) int
	// frames returns the functions of a location, the innermost first, without silent ones.
	frames(location []uintptr) []frame
}

// newSource returns the fastest source for this Go version.
func newSource() source {
	if goruntime.ListsGoroutines() {
		return newRuntimeSource()
	}
	return newPublicSource()
}

// Silent reports whether a function is the same for all goroutines: at the leaf those that
// suspend a goroutine, since their caller has the reason, and at the root goexit.
func Silent(function string) bool {
	switch function {
	case "runtime.gopark", "runtime.goparkunlock", "runtime.asyncPreempt", "runtime.asyncPreempt2", "runtime.goexit":
		return true
	}
	return marker.IsFrame(function)
}

// ofSpan reports whether one of the labels marks the work of a span.
func ofSpan(labels []label) bool {
	for i := range labels {
		switch labels[i].Key {
		case labelkey.ProfileID, labelkey.SpanID, labelkey.SpanName:
			return true
		}
	}
	return false
}

// runtimeSource uses the function of the runtime behind runtime/pprof's goroutine profile: less
// than 1 us for each goroutine, a tenth of the public way. It does not count goroutines for a
// span that has ended.
type runtimeSource struct {
	records []goruntime.StackRecord
	labels  []*goruntime.LabelSet
	symbols *goruntime.Symbols
}

func newRuntimeSource() *runtimeSource {
	spanlabels.TimesKept.Store(true)
	return &runtimeSource{symbols: goruntime.NewSymbols()}
}

func (*runtimeSource) priorCost() float64 { return 3000 }

// look takes the labels that held when it began: if it takes long, spans end meanwhile.
func (s *runtimeSource) look() error {
	at := goruntime.Nanotime()
	s.records, s.labels = goruntime.Goroutines(s.records, s.labels)
	for i, set := range s.labels {
		s.labels[i], _ = spanlabels.At(set, at)
	}
	return nil
}

func (s *runtimeSource) visit(found func(stack []uintptr, labels []label, count int64)) {
	// The records are in the order of creation. If the table is full, others than the newest
	// are left out too.
	n := len(s.records)
	first := rand.IntN(max(1, n))
	for i := range n {
		i = (first + i) % n
		if labels := s.labels[i].Labels(); len(s.records[i].Stack) > 0 && ofSpan(labels) {
			found(s.records[i].Stack, labels, 1)
		}
	}
	// The stacks and labels are garbage now, except those that found has kept.
	clear(s.records)
	clear(s.labels)
	s.records, s.labels = s.records[:0], s.labels[:0]
}

func (s *runtimeSource) split(stack []uintptr) int { return s.symbols.Split(stack) }

func (s *runtimeSource) frames(location []uintptr) []frame {
	return slices.DeleteFunc(slices.Clone(s.symbols.Frames(location)), func(f frame) bool { return Silent(f.Function) })
}

// publicSource writes runtime/pprof's goroutine profile and parses it: about 7 us for each
// goroutine.
type publicSource struct {
	encoded bytes.Buffer
	samples []*profile.Sample   // of the last look
	seen    map[uintptr][]frame // addresses in the profiles so far: bounded by the program's code
}

func newPublicSource() *publicSource { return &publicSource{seen: make(map[uintptr][]frame)} }

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
	// If the table is full, others than the last are left out too.
	rand.Shuffle(len(s.samples), func(i, j int) { s.samples[i], s.samples[j] = s.samples[j], s.samples[i] })
	for _, sample := range s.samples {
		labels := labelsOf(sample)
		if len(sample.Value) == 0 || !ofSpan(labels) {
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
		if f := line.Function; f != nil && !Silent(f.Name) {
			frames = append(frames, frame{Function: f.Name, File: f.Filename, Line: line.Line, StartLine: f.StartLine})
		}
	}
	return frames
}

func (*publicSource) split([]uintptr) int { return 1 }

func (s *publicSource) frames(location []uintptr) []frame { return s.seen[location[0]] }
