// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/pprof/profile"
)

// code is the code of a program and the stacks that it has.
type code struct {
	mapping   *profile.Mapping
	functions []*profile.Function
	locations []*profile.Location
	stacks    [][]*profile.Location
}

func newCode(random *rand.Rand) *code {
	c := &code{mapping: &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x4000000, File: "/usr/local/bin/shop", HasFunctions: true}}
	for i := range 600 {
		name := fmt.Sprintf("github.com/example/shop/internal/package%d.(*Type%d).Method%d", i%30, i%90, i)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: fmt.Sprintf("/go/src/github.com/example/shop/internal/package%d/file%d.go", i%30, i%60), StartLine: int64(i)}
		c.functions = append(c.functions, f)
		c.locations = append(c.locations, &profile.Location{ID: f.ID, Mapping: c.mapping, Address: 0x400000 + f.ID*64, Line: []profile.Line{{Function: f, Line: f.StartLine + 3}}})
	}
	for range 4000 {
		depth := 10 + random.IntN(30)
		stack := make([]*profile.Location, depth)
		for i := range stack {
			// The nearer to the root, the fewer functions.
			stack[depth-1-i] = c.locations[random.IntN(min(len(c.locations), 4<<(i/3)))]
		}
		c.stacks = append(c.stacks, stack)
	}
	return c
}

// pick returns a stack; some are much more frequent than others.
func (c *code) pick(random *rand.Rand) int {
	return random.IntN(1 + random.IntN(1+random.IntN(len(c.stacks))))
}

// profile returns a CPU profile without samples.
func (c *code) profile() *profile.Profile {
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     int64(tick),
		Mapping:    []*profile.Mapping{c.mapping},
		Location:   c.locations,
		Function:   c.functions,
	}
}
