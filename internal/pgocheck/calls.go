// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"
)

const (
	// hotPercent is the share of the weight of all calls that is hot, the heaviest calls
	// first: inlineCDFHotCallSiteThresholdPercent in cmd/compile/internal/inline.
	hotPercent = 99
	// frames is how many of a stack's innermost frames the compiler reads.
	frames = 2
)

// Call is a call site as the compiler finds it in the source.
type Call struct {
	Caller, Callee string
	Offset         int64 // of the call's line from the first line of Caller
}

// Calls are the calls of a profile with their weights, as the compiler computes them
// (internal/profile.NewGraph, cmd/internal/pgo; "go tool preprofile" prints them).
type Calls struct {
	Weight map[Call]int64
	Total  int64
}

// node is a line of code on which the compiler's graph has a node.
type node struct {
	name            string
	address         uint64
	line, startLine int64
}

// CallsOf adds up the calls by the value at index.
func CallsOf(p *profile.Profile, index int) Calls {
	c := Calls{Weight: map[Call]int64{}}
	var chain []node
	seen := map[[2]node]bool{}
	for _, s := range p.Sample {
		if s.Value[index] == 0 {
			continue
		}
		chain = chainOf(s, chain[:0])
		clear(seen)
		for i := 1; i < len(chain); i++ {
			edge := [2]node{chain[i-1], chain[i]}
			if edge[0] == edge[1] || seen[edge] {
				continue // a stack counts once for each call
			}
			seen[edge] = true
			c.Weight[between(edge[0], edge[1])] += s.Value[index]
			c.Total += s.Value[index]
		}
	}
	return c
}

// chainOf appends the nodes that the compiler reads to chain, the innermost last.
func chainOf(s *profile.Sample, chain []node) []node {
	for i := min(frames, len(s.Location)) - 1; i >= 0; i-- {
		l := s.Location[i]
		if len(l.Line) == 0 {
			chain = append(chain, node{address: l.Address})
		}
		for _, line := range slices.Backward(l.Line) {
			n := node{address: l.Address}
			if line.Function != nil {
				n = node{line.Function.Name, l.Address, line.Line, line.Function.StartLine}
			}
			chain = append(chain, n)
		}
	}
	return chain
}

func between(from, to node) Call { return Call{from.name, to.name, from.line - from.startLine} }

// Hot returns the calls that the compiler takes for hot.
func (c Calls) Hot() map[Call]int64 {
	order := make([]Call, 0, len(c.Weight))
	for call := range c.Weight {
		order = append(order, call)
	}
	slices.SortFunc(order, func(a, b Call) int {
		return cmp.Or(cmp.Compare(c.Weight[b], c.Weight[a]), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Offset, b.Offset))
	})
	hot := make(map[Call]int64, len(order))
	sum := int64(0)
	for _, call := range order {
		hot[call] = c.Weight[call]
		sum += c.Weight[call]
		if float64(sum)/float64(c.Total)*100 > hotPercent {
			break
		}
	}
	return hot
}

// Unseen estimates the share of a workload's calls that the profile has never seen: the share
// that it has seen once (Good and Turing's estimate). index is the number of samples.
func Unseen(p *profile.Profile, index int) float64 {
	c := CallsOf(p, index)
	once := 0
	for _, n := range c.Weight {
		if n == 1 {
			once++
		}
	}
	return float64(once) / float64(max(1, c.Total))
}
