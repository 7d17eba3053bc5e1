// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package marker puts the names of spans into the profiles without labels: heap, mutex and
// block. The runtime keeps only the stacks of their samples. So work runs under two functions,
// the digits of its name's number. Label makes a label of them.
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

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
)

const (
	base   = 16
	others = base*base - 1 // the number of all names beyond the first ones
	// other is the name of others, as in the limit of span names.
	other  = "other"
	prefix = "github.com/spanprof/spanprof/internal/marker."
)

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
	adding.Lock()
	defer adding.Unlock()
	var list []string
	if known := names.Load(); known != nil {
		list = *known
	}
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

// Used reports whether there are markers in this process.
func Used() bool { return names.Load() != nil }

// IsFrame reports whether a function is of this package.
func IsFrame(function string) bool { return strings.HasPrefix(function, prefix) }

// Label gives samples under a marker the label span_name, unless they have one. The marker
// nearest to the leaf counts. Label removes the frames of this package from all samples.
func Label(p *profile.Profile) {
	known := names.Load()
	if known == nil {
		return
	}
	digits := make(map[uint64]digit)
	for _, l := range p.Location {
		if d, ok := digitOf(l); ok {
			digits[l.ID] = d
		}
	}
	for _, s := range p.Sample {
		label(s, *known, digits)
	}
}

// digit is a location of this package.
type digit struct {
	value uint8
	of    byte // 'h', 'l', or another function
}

// digitOf returns the digit of a location, and false if it is not of this package. The
// compiler may inline calls of this package into a digit; it inlines nothing else there.
func digitOf(l *profile.Location) (d digit, ok bool) {
	for _, line := range l.Line {
		if line.Function == nil || !IsFrame(line.Function.Name) {
			continue
		}
		ok = true
		name := strings.TrimPrefix(line.Function.Name, prefix)
		if value, err := strconv.ParseUint(name[1:], 10, 8); err == nil && value < base && (name[0] == 'h' || name[0] == 'l') {
			d = digit{uint8(value), name[0]}
		}
	}
	return d, ok
}

func label(s *profile.Sample, names []string, digits map[uint64]digit) {
	low, high := -1, -1
	kept := s.Location[:0]
	for _, l := range s.Location {
		d, ok := digits[l.ID]
		switch {
		case !ok:
			kept = append(kept, l)
		case d.of == 'l' && low < 0:
			low = int(d.value)
		case d.of == 'h' && low >= 0 && high < 0:
			high = int(d.value)
		}
	}
	s.Location = kept
	if high < 0 || len(s.Label[labelkey.SpanName]) > 0 {
		return
	}
	name := other
	if n := high*base + low; n < len(names) {
		name = names[n]
	}
	if s.Label == nil {
		s.Label = make(map[string][]string)
	}
	s.Label[labelkey.SpanName] = []string{name}
}
