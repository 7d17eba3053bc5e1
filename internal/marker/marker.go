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
	"net/http"
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

var (
	numbers sync.Map // of string to uint8
	adding  sync.Mutex
	names   atomic.Pointer[[]string] // by number; nil before the first Do
)

// number returns the number of a name.
func number(name string) uint8 {
	if n, ok := numbers.Load(name); ok {
		return n.(uint8)
	}
	if len(Names()) == others {
		return others
	}
	adding.Lock()
	defer adding.Unlock()
	list := Names()
	if n, ok := numbers.Load(name); ok {
		return n.(uint8)
	}
	if len(list) == others {
		return others
	}
	list = append(slices.Clip(list), name)
	names.Store(&list)
	numbers.Store(name, uint8(len(list)-1))
	return uint8(len(list) - 1)
}

// call is the work of a span: f or handler.
type call struct {
	ctx     context.Context
	f       func(context.Context)
	handler http.Handler
	w       http.ResponseWriter
	r       *http.Request
}

func (c *call) run() {
	if c.f != nil {
		c.f(c.ctx)
		return
	}
	c.handler.ServeHTTP(c.w, c.r)
}

// Do calls f with ctx under the marker of a span's name; "" has none. It allocates nothing
// once the name is known.
func Do(ctx context.Context, name string, f func(context.Context)) {
	if name == "" {
		f(ctx)
		return
	}
	c := call{ctx: ctx, f: f}
	high(number(name), &c)
}

// Serve calls h under the marker of a span's name, like Do.
func Serve(name string, h http.Handler, w http.ResponseWriter, r *http.Request) {
	if name == "" {
		h.ServeHTTP(w, r)
		return
	}
	c := call{handler: h, w: w, r: r}
	high(number(name), &c)
}

// Names returns the names by number, nil before the first Do. All other numbers are [Other].
func Names() []string {
	if known := names.Load(); known != nil {
		return *known
	}
	return nil
}

// IsFrame reports whether a function is of this package.
func IsFrame(function string) bool { return strings.HasPrefix(function, prefix) }

// Digit returns the digit of a function of this package. It is the high or the low one of a
// number, or neither.
func Digit(function string) (value int, high, low bool) {
	name, ok := strings.CutPrefix(function, prefix)
	if !ok || name == "" {
		return 0, false, false
	}
	v, err := strconv.ParseUint(name[1:], 10, 8)
	if err != nil || v >= base {
		return 0, false, false
	}
	return int(v), name[0] == 'h', name[0] == 'l'
}

// Number returns the number of two digits.
func Number(high, low int) int { return high*base + low }
