// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package pgo

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// Calls lists the calls of p with their weights.
func Calls(p *profile.Profile) []string {
	c, _, err := callsIn(p)
	if err != nil {
		panic(err)
	}
	var list []string
	for edge, w := range c.weight {
		list = append(list, fmt.Sprintf("%s > %s %d %d", edge.caller, edge.callee, edge.offset, w))
	}
	slices.Sort(list)
	return list
}
