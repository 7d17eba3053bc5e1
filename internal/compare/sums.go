// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"path"

	"github.com/google/pprof/profile"
)

// amount is what a function takes: self by itself, total with what it called.
type amount struct{ self, total float64 }

func (a amount) plus(b amount) amount { return amount{a.self + b.self, a.total + b.total} }

// sums is what the functions of some samples take.
type sums struct {
	functions map[string]amount
	total     float64
}

func newSums() sums { return sums{functions: map[string]amount{}} }

func (s *sums) add(other sums) {
	s.total += other.total
	for name, a := range other.functions {
		s.functions[name] = s.functions[name].plus(a)
	}
}

// summer sums samples by function. A stack counts once for a function, however often
// the function is on it.
type summer struct {
	sums
	names map[*profile.Location][]string // the leaf first
	seen  map[string]bool
}

// interrupted is on top of a function that the runtime interrupts to run another
// goroutine. How often that happens depends on how busy the machine is. Its samples
// belong to the function.
const interrupted = "runtime.asyncPreempt"

func newSummer() *summer {
	return &summer{sums: newSums(), names: map[*profile.Location][]string{}, seen: map[string]bool{}}
}

func (s *summer) sample(stack []*profile.Location, value float64) {
	s.total += value
	clear(s.seen)
	leaf := true
	for _, loc := range stack {
		for _, name := range s.namesOf(loc) {
			if s.seen[name] || leaf && name == interrupted {
				continue
			}
			s.seen[name] = true
			a := amount{total: value}
			if leaf {
				a.self, leaf = value, false
			}
			s.functions[name] = s.functions[name].plus(a)
		}
	}
}

// namesOf returns the functions at a location, those that are inlined first. Addresses
// without symbols differ from one build to the next: they count for their library.
func (s *summer) namesOf(loc *profile.Location) []string {
	names, ok := s.names[loc]
	if ok {
		return names
	}
	for _, line := range loc.Line {
		if line.Function != nil && line.Function.Name != "" {
			names = append(names, line.Function.Name)
		}
	}
	if len(names) == 0 {
		name := "(no symbol)"
		if loc.Mapping != nil && loc.Mapping.File != "" {
			name = "(no symbol) " + path.Base(loc.Mapping.File)
		}
		names = []string{name}
	}
	s.names[loc] = names
	return names
}
