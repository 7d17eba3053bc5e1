// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/spanprof/spanprof/exporter"
)

// measuringCPU is how many Profilers of this process measure the CPU.
var measuringCPU atomic.Int32

// Enable measures a kind from now on. It does nothing if the kind is measured
// already, and may be called before Start. The first window of the kind ends
// when the others do. It returns ErrUnknownKind, ErrShutdown after Shutdown, or
// ctx's error if it ends first, in which case the kind may be enabled later.
func (p *Profiler) Enable(ctx context.Context, k exporter.Kind) error {
	return p.change(ctx, k, true)
}

// Disable stops measuring a kind, and gives its last window to the exporter
// like any other; Flush returns after it has been delivered. It does nothing if
// the kind is not measured. A Profiler with no kind left is idle. Errors are as
// for Enable.
func (p *Profiler) Disable(ctx context.Context, k exporter.Kind) error {
	return p.change(ctx, k, false)
}

func (p *Profiler) change(ctx context.Context, k exporter.Kind, on bool) error {
	if !slices.Contains(known, k) {
		return fmt.Errorf("%w: %q is none of %q", ErrUnknownKind, k, known)
	}
	p.mu.Lock()
	switch p.state {
	case shutDown:
		p.mu.Unlock()
		return ErrShutdown
	case created:
		p.list(k, on)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return p.do(ctx, func(*grid) {
		p.mu.Lock()
		changed := p.list(k, on)
		p.mu.Unlock()
		switch {
		case changed && on:
			p.open(k)
		case changed:
			p.close(k)
		}
	})
}

// list puts a kind among those that are measured, or removes it, and reports
// whether that changes anything. The caller holds p.mu.
func (p *Profiler) list(k exporter.Kind, on bool) bool {
	if slices.Contains(p.kinds, k) == on {
		return false
	}
	if on {
		p.kinds = append(p.kinds, k)
	} else {
		p.kinds = slices.DeleteFunc(p.kinds, func(other exporter.Kind) bool { return other == k })
	}
	return true
}

// open begins to measure a kind. The loop calls it.
func (p *Profiler) open(k exporter.Kind) {
	s := &stream{kind: k, sampler: p.sampler(k)}
	p.streams = append(p.streams, s)
	// What may have to wait comes last.
	slices.SortStableFunc(p.streams, func(a, b *stream) int { return cmp.Compare(a.rank(), b.rank()) })
	if k == exporter.KindCPU {
		p.mu.Lock()
		p.cpuRun = s
		p.mu.Unlock()
		measuringCPU.Add(1)
		p.report(p.cpu.warning())
	}
	p.report(s.start())
}

// close ends to measure a kind. The loop calls it.
func (p *Profiler) close(k exporter.Kind) {
	i := slices.IndexFunc(p.streams, func(s *stream) bool { return s.kind == k })
	s := p.streams[i]
	p.streams = slices.Delete(p.streams, i, i+1)
	p.endStream(s, sampler.stop)
	s.release()
	if k == exporter.KindCPU {
		measuringCPU.Add(-1)
	}
}
