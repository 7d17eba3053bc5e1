// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

var _ source = (*runtimeSource)(nil)

// runtimeSource takes a round by the function of the runtime that runtime/pprof
// makes its goroutine profile of: under 1 us for each goroutine, a tenth of what
// the public way costs. It sees which goroutines have outlived their span, and does
// not count them for it.
type runtimeSource struct {
	all     bool
	records []goruntime.StackRecord
	labels  []*goruntime.LabelSet
	found   [2]map[*label]*goruntime.LabelSet // of spans, by the last visit and the one before
	symbols *goruntime.Symbols
}

func newRuntimeSource(all bool) *runtimeSource {
	spanlabels.TimesKept.Store(true)
	s := &runtimeSource{all: all, symbols: goruntime.NewSymbols()}
	for i := range s.found {
		s.found[i] = make(map[*label]*goruntime.LabelSet)
	}
	return s
}

func (*runtimeSource) name() string { return "runtime" }

func (*runtimeSource) priorCost() float64 { return 3000 }

// look sees the labels that held when it began: where it takes long, spans end before
// it has.
func (s *runtimeSource) look() error {
	at := goruntime.Nanotime()
	s.records, s.labels = goruntime.Goroutines(s.records, s.labels)
	for i, set := range s.labels {
		s.labels[i], _ = spanlabels.At(set, at)
	}
	return nil
}

func (s *runtimeSource) visit(found func(stack []uintptr, labels []label, count int64)) {
	// The records are in the order in which goroutines were first made. Where there
	// is not room for all, it is not always the last that are left out.
	n := len(s.records)
	first := rand.IntN(max(1, n))
	sets := s.found[1]
	clear(sets)
	s.found = [2]map[*label]*goruntime.LabelSet{sets, s.found[0]}
	for i := range n {
		i = (first + i) % n
		r := s.records[i]
		labels := s.labels[i].Labels()
		spans := ofSpan(labels)
		if spans {
			sets[&labels[0]] = s.labels[i]
		}
		if len(r.Stack) > 0 && (s.all || spans) {
			found(r.Stack, labels, 1)
		}
	}
	// The stacks and labels are garbage now, unless found has kept them.
	clear(s.records)
	clear(s.labels)
	s.records, s.labels = s.records[:0], s.labels[:0]
}

func (s *runtimeSource) held(labels []label, until time.Time) bool {
	if !ofSpan(labels) {
		return true
	}
	for _, sets := range s.found {
		if set := sets[&labels[0]]; set != nil {
			held, _ := spanlabels.At(set, goruntime.Nanotime()-int64(time.Since(until)))
			return held == set
		}
	}
	return false
}

func (s *runtimeSource) split(stack []uintptr) int { return s.symbols.Split(stack) }

func (s *runtimeSource) frames(location []uintptr) []frame {
	return slices.DeleteFunc(slices.Clone(s.symbols.Frames(location)), func(f frame) bool { return silent(f.Function) })
}
