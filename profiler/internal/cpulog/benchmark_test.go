// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"testing"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// BenchmarkTake is what a sample costs: a stack of 30 addresses and four labels, in a
// window of 1,000 different ones. 64 cores have 6,400 a second.
func BenchmarkTake(b *testing.B) {
	if err := goruntime.Unknown(); err != nil {
		b.Skip(err)
	}
	const different = 1000
	l := New(100, goruntime.ReadCPUProfile)
	pc := uint64(funcPC(known))
	records := make([][]uint64, different)
	labels := make([]*goruntime.LabelSet, different)
	for i := range records {
		records[i] = append([]uint64{33, 0, 1}, make([]uint64, 30)...)
		for j := range 30 {
			records[i][3+j] = pc + uint64(i*j)
		}
		labels[i] = &goruntime.LabelSet{List: []goruntime.Label{
			{Key: "profile_id", Value: "0123456789abcdef"},
			{Key: "span_id", Value: "0123456789abcdef"},
			{Key: "span_name", Value: "GET /orders/{id}"},
			{Key: "trace_id", Value: "0123456789abcdef0123456789abcdef"},
		}}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		l.take(records[n%different], labels[n%different:n%different+1], mark{})
		n++
	}
}

// BenchmarkLook is what a look at the samples costs, of which there are some after a cut.
func BenchmarkLook(b *testing.B) {
	if !canPoke {
		b.Skip("nothing wakes the runtime's reader on " + runtime.GOOS)
	}
	l := New(100, goruntime.ReadCPUProfile)
	runtime.SetCPUProfileRate(100)
	l.header = true
	b.ReportAllocs()
	for b.Loop() {
		l.drain(l.mark(true))
	}
	b.StopTimer()
	runtime.SetCPUProfileRate(0)
	for eof := false; !eof; {
		eof = l.drain(mark{})
	}
}

// BenchmarkFill is what it costs to wake the reader.
func BenchmarkFill(b *testing.B) {
	if !canPoke {
		b.Skip("nothing wakes the runtime's reader on " + runtime.GOOS)
	}
	l := New(100, goruntime.ReadCPUProfile)
	runtime.SetCPUProfileRate(100)
	l.header = true
	l.asleep.Store(true)
	b.ReportAllocs()
	for b.Loop() {
		l.fill()
		l.drain(l.mark(true))
		l.drain(l.mark(true)) // gives the runtime its room back
		l.asleep.Store(true)
	}
	b.StopTimer()
	runtime.SetCPUProfileRate(0)
	for eof := false; !eof; {
		eof = l.drain(mark{})
	}
}
