// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// hotPercent is the share of the weight of all calls whose call sites the compiler
// takes for hot, the heaviest first: inlineCDFHotCallSiteThresholdPercent in
// cmd/compile/internal/inline.
const hotPercent = 99

// framesOfCall is how many of a stack's innermost frames the compiler looks at.
const framesOfCall = 2

// call is a call site, as the compiler finds it again in the source.
type call struct {
	caller, callee string
	offset         int64 // of the call's line from the line where caller begins
}

// calls are the calls of a profile and their weights, as the compiler computes them
// (internal/profile.NewGraph, cmd/internal/pgo; "go tool preprofile" prints them).
type calls struct {
	weight map[call]int64
	total  int64
}

// node is a line of code on which the compiler's graph has a node.
type node struct {
	name            string
	address         uint64
	line, startLine int64
}

// callsOf adds up p's calls by the value at index.
func callsOf(p *profile.Profile, index int) calls {
	c := calls{weight: map[call]int64{}}
	var chain []node
	seen := map[[2]node]bool{}
	for _, s := range p.Sample {
		if s.Value[index] == 0 {
			continue
		}
		chain = chainOf(s, chain[:0])
		clear(seen)
		for i := 1; i < len(chain); i++ {
			from, to := chain[i-1], chain[i]
			if from == to || seen[[2]node{from, to}] {
				continue // a stack counts once for each call
			}
			seen[[2]node{from, to}] = true
			c.weight[callBetween(from, to)] += s.Value[index]
			c.total += s.Value[index]
		}
	}
	return c
}

// chainOf appends the nodes of s that the compiler looks at to chain, the
// innermost last.
func chainOf(s *profile.Sample, chain []node) []node {
	for i := min(framesOfCall, len(s.Location)) - 1; i >= 0; i-- {
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

func callBetween(from, to node) call {
	return call{caller: from.name, callee: to.name, offset: from.line - from.startLine}
}

// hot returns the calls that the compiler takes for hot.
func (c calls) hot() map[call]int64 {
	order := make([]call, 0, len(c.weight))
	for edge := range c.weight {
		order = append(order, edge)
	}
	slices.SortFunc(order, func(a, b call) int {
		return cmp.Or(cmp.Compare(c.weight[b], c.weight[a]),
			strings.Compare(a.caller, b.caller), strings.Compare(a.callee, b.callee), cmp.Compare(a.offset, b.offset))
	})
	hot := make(map[call]int64, len(order))
	var sum int64
	for _, edge := range order {
		hot[edge] = c.weight[edge]
		sum += c.weight[edge]
		if float64(sum)/float64(c.total)*100 > hotPercent {
			break
		}
	}
	return hot
}

// unseen estimates which share of the workload's calls the profile has never seen:
// as many as it has seen once (Good and Turing's estimate).
func unseen(p *profile.Profile) float64 {
	c := callsOf(p, countValue)
	if c.total == 0 {
		return 0
	}
	once := 0
	for _, n := range c.weight {
		if n == 1 {
			once++
		}
	}
	return float64(once) / float64(c.total)
}

// compilerValue returns the index of the value that the compiler reads.
func compilerValue(p *profile.Profile) (int, error) {
	for i, t := range p.SampleType {
		if t.Type == "samples" && t.Unit == "count" || t.Type == "cpu" && t.Unit == "nanoseconds" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: it has neither samples/count nor cpu/nanoseconds", ErrNotCPU)
}
