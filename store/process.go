// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/journal"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Process is a process that has left spans and profiles in a directory; see
// WithDirectory.
type Process struct {
	// Started is when it opened the directory. It is zero for the oldest of more than 254
	// processes, which are not told apart.
	Started time.Time
	// PID is its id, 0 where that is not known.
	PID int
	// Service and Version are service.name and service.version of its profiles, empty
	// where that is not known.
	Service, Version string
}

// maxProcesses is how many earlier processes are told apart: records have a byte for it, of
// which 0 is this process, and olderNumber stands for all others.
const (
	olderNumber  = 255
	maxProcesses = olderNumber - 1
)

// olderProcesses stands for the earlier processes that are too many to tell apart.
var olderProcesses = &Process{}

// process returns an earlier process by its number, nil for this one.
func (x *held) process(number uint8) *Process {
	switch {
	case number == olderNumber:
		return olderProcesses
	case number == 0 || int(number) > len(x.processes):
		return nil
	}
	return x.processes[number-1]
}

// number returns the number of an earlier process. Where it is new, and there are as many as
// limit, that is olderNumber.
func (s *Store) number(p journal.Process, limit int) uint8 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.index.processes {
		if known.Started.Equal(p.Started) && known.PID == p.PID {
			return uint8(i + 1)
		}
	}
	if p.Started.IsZero() || len(s.index.processes) >= limit { // zero: it was not told apart before
		return olderNumber
	}
	of := &Process{Started: p.Started, PID: p.PID, Version: ident.CutClone(p.Version())}
	if len(p.Services) > 0 {
		of.Service = ident.CutClone(p.Services[0].Name)
	}
	s.index.processes = append(s.index.processes, of)
	return uint8(len(s.index.processes))
}

// tellApart gives the number that stands for the oldest processes to all but the newest runs.
func (d *directory) tellApart() {
	runs := d.journal.Earlier()
	older := max(0, len(runs)-maxProcesses)
	for _, r := range runs[:older] {
		d.processes[r] = olderNumber
	}
	d.unnumbered = len(runs) - older
	if older == 0 {
		return
	}
	d.leave(leftOut{processes: older})
	if d.left == nil { // which hears of files
		d.report(fmt.Errorf("the oldest %d of %d earlier processes are not told apart", older, len(runs)))
	}
}

// processOf returns the number of the process of a run.
func (d *directory) processOf(r *journal.Run) uint8 {
	n, ok := d.processes[r]
	if !ok {
		n = d.store.number(r.Process, maxProcesses)
		d.processes[r] = n
		d.unnumbered--
	}
	return n
}

// otherProcess returns the number of a process that a later one has written spans of. It
// leaves the numbers to runs that these need.
func (d *directory) otherProcess(p journal.Process) uint8 {
	return d.store.number(p, maxProcesses-d.unnumbered)
}

// spanConverter makes records those of files.
type spanConverter struct {
	of    *directory
	index *held
	times *cputime.Times
	// service is that of times.
	service string
}

func (c *spanConverter) convert(r *spanlog.Record) journal.Span {
	s := c.of.store
	if c.index == nil {
		s.mu.RLock()
		index := s.index.held
		s.mu.RUnlock()
		c.index = &index
	}
	span := journal.Span{
		TraceID: hexOf(r.TraceID[:], r.TraceID.IsValid()), SpanID: hexOf(r.SpanID[:], true), ParentID: hexOf(r.ParentID[:], r.ParentID.IsValid()),
		Name: r.Name.Value, Service: r.Name.Service, Label: r.Label.String(), Status: r.Status,
		Start: r.Start, Duration: r.Duration, Err: r.Err, LocalRoot: r.LocalRoot,
		CPU: int64(r.CPU), CPUBelow: int64(r.Below), CPUSamples: r.CPUCount, WallSamples: r.WallCount,
	}
	if r.Lost != spanlog.LostNothing {
		span.Loss = Loss(r.Lost).String()
	}
	for _, e := range s.spans.Attributes(r) {
		if e.More {
			span.AttributesOmitted = true
			continue
		}
		span.Attributes = append(span.Attributes, journal.Attribute{Key: e.Key, Value: e.Value, Child: e.Child, OfChild: e.OfChild})
	}
	coverage := cputime.Gone
	if p := c.index.process(r.Earlier); p != nil {
		span.Process = &journal.Process{Started: p.Started, PID: p.PID, Services: []journal.Service{{Name: p.Service, Version: p.Version}}}
		coverage = r.EarlierCoverage()
	} else {
		if c.times == nil || r.Name.Service != c.service {
			c.service, c.times = r.Name.Service, c.index.timesOf(r.Name.Service)
		}
		if c.times != nil {
			coverage = c.times.Held(r.Start, r.Start+r.Duration, false)
		}
	}
	span.Coverage = Coverage(coverage).String()
	return span
}

func hexOf(id []byte, valid bool) string {
	if !valid {
		return ""
	}
	return hex.EncodeToString(id)
}

// restored returns a span of a file as the log takes it. It returns false for one that
// cannot be: what wrote it is not this program.
func restored(s *journal.Span, number uint8) (r spanlog.Restored, ok bool) {
	var err error
	if r.SpanID, err = trace.SpanIDFromHex(s.SpanID); err != nil || s.Duration < 0 || s.Start > ident.Latest || s.Start < -ident.Latest {
		return r, false
	}
	// Both are zero where there is none.
	r.TraceID, _ = trace.TraceIDFromHex(s.TraceID)
	r.ParentID, _ = trace.SpanIDFromHex(s.ParentID)
	r.Service, r.Name, r.Label, r.Status = ident.Cut(s.Service), ident.Cut(s.Name), ident.Cut(s.Label), ident.CutClone(s.Status)
	r.Start, r.Duration, r.Err, r.LocalRoot = s.Start, min(s.Duration, ident.Latest-max(0, s.Start)), s.Err, s.LocalRoot
	r.CPU, r.Below = time.Duration(max(0, s.CPU)), time.Duration(max(0, s.CPUBelow))
	r.CPUCount, r.WallCount = max(0, s.CPUSamples), max(0, s.WallSamples)
	r.Earlier, r.Coverage = number, cputime.Gone
	for _, c := range []cputime.Held{cputime.Whole, cputime.Part, cputime.None} {
		if s.Coverage == Coverage(c).String() {
			r.Coverage = c
		}
	}
	for _, l := range []Loss{LossSamples, LossSummary} {
		if s.Loss == l.String() {
			r.Lost = spanlog.Lost(l)
		}
	}
	for _, a := range s.Attributes {
		r.Attributes = append(r.Attributes, attributes.Entry{Key: a.Key, Value: a.Value, Child: a.Child, OfChild: a.OfChild})
	}
	if s.AttributesOmitted {
		r.Attributes = append(r.Attributes, attributes.Entry{More: true})
	}
	return r, true
}

func newCount(n *windowName) journal.Count {
	return journal.Count{
		Service: n.texts.Service, Name: n.texts.Value, Label: n.texts.Label,
		Spans: n.Spans, Errors: n.Errors, Duration: int64(n.Duration), MaxDuration: int64(n.MaxDuration), CPU: int64(n.CPU), CPUSamples: n.CPUCount,
	}
}

func counts(of []journal.Count) []spanlog.Count {
	list := make([]spanlog.Count, len(of))
	for i, c := range of {
		list[i] = spanlog.Count{
			Texts: spanlog.Texts{NameKey: spanlog.NameKey{Service: ident.CutClone(c.Service), Value: ident.CutClone(c.Name)}, Label: ident.CutClone(c.Label)},
			Numbers: spanlog.Numbers{
				Spans: c.Spans, Errors: c.Errors, Duration: time.Duration(c.Duration), MaxDuration: time.Duration(c.MaxDuration),
				CPU: time.Duration(c.CPU), CPUCount: c.CPUSamples,
			},
		}
	}
	return list
}

// newer reports whether the values of w at its end are newer than those of another
// window: this process comes after the earlier ones, whatever the clock said.
func (w *window) newer(than *window) bool {
	return cmp.Or(cmp.Compare(than.age, w.age), w.End.Compare(than.End)) >= 0
}
