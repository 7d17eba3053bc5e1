// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package marker puts the names of spans into the profiles without labels: heap, mutex and
// block. The runtime keeps only the stacks of their samples. So work runs under two functions,
// the digits of its name's number. Package decode makes a label of them.
//
// Samples with more Go frames than the runtime keeps, 128, have no marker if it is above
// them. Goroutines that the work starts have none.
package marker

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	base   = 16
	others = base*base - 1 // the number of all names beyond the first ones
	prefix = "github.com/spanprof/spanprof/internal/marker."
)

// Other is the name of all names beyond the first ones, as in the limit of span names.
const Other = "other"

// table has the names by number and the numbers by name. It never changes.
type table struct {
	names   []string
	numbers map[string]uint8
}

var (
	current atomic.Pointer[table] // nil before the first Do
	adding  sync.Mutex
)

// number returns the number of a name.
func number(name string) uint8 {
	if t := current.Load(); t != nil {
		if n, ok := t.numbers[name]; ok {
			return n
		}
		if len(t.names) == others {
			return others
		}
	}
	return add(name)
}

// add numbers a new name.
func add(name string) uint8 {
	adding.Lock()
	defer adding.Unlock()
	t := table{numbers: map[string]uint8{}}
	if before := current.Load(); before != nil {
		t = table{slices.Clip(before.names), maps.Clone(before.numbers)}
	}
	if n, ok := t.numbers[name]; ok {
		return n
	}
	if len(t.names) == others {
		return others
	}
	n := uint8(len(t.names))
	t.names, t.numbers[name] = append(t.names, name), n
	current.Store(&t)
	return n
}

// Do calls f with ctx under the marker of a span's name; "" has none. It allocates nothing
// once the name is known.
func Do(ctx context.Context, name string, f func(context.Context)) {
	if name == "" {
		f(ctx)
		return
	}
	under(ctx, number(name), f)
}

// Names returns the names by number, nil before the first Do. All other numbers are [Other].
func Names() []string {
	if t := current.Load(); t != nil {
		return t.names
	}
	return nil
}

// IsFrame reports whether a function is of this package.
func IsFrame(function string) bool { return strings.HasPrefix(function, prefix) }

// Digit returns the digit of a function of this package.
func Digit(function string) (value int, ok bool) {
	text, ok := strings.CutPrefix(function, prefix+"d")
	v, err := strconv.ParseUint(text, 10, 8)
	return int(v), ok && err == nil && v < base
}

// Number returns the number of two digits.
func Number(high, low int) int { return high*base + low }
