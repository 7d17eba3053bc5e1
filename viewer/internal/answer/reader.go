// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package answer makes what the viewer answers: the JSON and the text of every page,
// from one view of the profiles. It has no HTTP.
package answer

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
)

// Reader makes the answer to one request from one view. It keeps the first error: what it
// reads after that is empty, and the method that makes the answer returns the error.
type Reader struct {
	*Program
	view store.View
	// info is what was known of the source before the first question.
	info   store.Info
	status *Status
	ctx    context.Context // of the request
	err    error

	// These are kept for further parts of the answer.
	perName []store.NameTotal
	windows []store.WindowInfo
	held    services
}

// Program is what a handler has for each Reader.
type Program struct {
	// Instance is different for each handler, and part of generations.
	Instance string
	// Code is where the source code of the program is.
	Code Code
}

// NewReader returns a reader of view, with sums that end with ctx. status is nil where nothing
// is known of the profiler; the reader completes its message.
func NewReader(ctx context.Context, view store.View, status *Status, p *Program) *Reader {
	r := &Reader{Program: p, view: view, info: view.Info(), status: status, ctx: ctx}
	if status != nil && status.Message == "" && status.stopped() {
		status.Message = "Profiling is off: no samples come."
		if r.info.Stats.WindowsReceived > 0 {
			status.Message = "Profiling has stopped: no more samples come."
		}
	}
	return r
}

// building bounds how many graphs are built at a time: each takes memory beside its samples. A
// graph ends with its request, so that no place is held for long.
var building = make(chan struct{}, runtime.GOMAXPROCS(0))

func (r *Reader) summary(sel *store.Samples, fns *flame.Functions) *flame.Summary {
	select {
	case building <- struct{}{}:
		defer func() { <-building }()
	case <-r.ctx.Done():
		r.err = cmp.Or(r.err, r.ctx.Err())
		sel = new(store.Samples)
	}
	s, err := flame.SummaryWithin(r.ctx, sel.Stacks, fns)
	r.err = cmp.Or(r.err, err)
	return s
}

// fixed reports whether the source receives nothing while it is read.
func (r *Reader) fixed() bool { return r.info.Lacks.Has(store.LacksUpdates) }

// ranged reports whether answers are only about the time of the request.
func (r *Reader) ranged() bool { return r.info.Lacks.Has(store.LacksWindows) }

func (r *Reader) records() bool { return !r.info.Lacks.Has(store.LacksRecords) }

// notes returns the notes of the view, after other notes.
func (r *Reader) notes(others ...string) string {
	if r.err == nil {
		others = append(others, r.view.Info().Notes...)
	}
	return joinNotes(others...)
}

// ask sends a query to the view and keeps the first error.
func ask[T any](r *Reader, about string, question func() (T, error)) (answer T) {
	if r.err != nil {
		return answer
	}
	answer, err := question()
	if err != nil {
		r.err = fmt.Errorf("%s: %w", about, err)
	}
	return answer
}

// answered returns a, or the first error.
func answered[T any](r *Reader, a *T) (*T, error) {
	if r.err != nil {
		return nil, r.err
	}
	return a, nil
}

// running reports whether samples may be on their way.
func (r *Reader) running() bool {
	return !r.fixed() && (r.status == nil || !r.status.stopped())
}

// generation names what the source holds; "" where it does not change. Another
// handler, or one after a restart, has other names.
func (r *Reader) generation() string {
	if r.fixed() {
		return ""
	}
	return r.Instance + "-" + strconv.FormatUint(r.info.Generation, 36)
}

func (r *Reader) nameTotals() []store.NameTotal {
	if r.perName == nil {
		r.perName = r.list("names", store.SpanQuery{Names: true}).Names
	}
	return r.perName
}

func (r *Reader) allWindows() []store.WindowInfo {
	if r.windows == nil {
		r.windows = ask(r, "list of profiles", r.view.Windows)
	}
	return r.windows
}

func (r *Reader) has(kind exporter.Kind) bool {
	return slices.ContainsFunc(r.allWindows(), func(w store.WindowInfo) bool { return w.Kind == kind })
}

// ofHost reports whether an eBPF agent has taken the profiles of q's kind: a program's own
// profiler has no frames of the kernel.
func (r *Reader) ofHost(q Query) bool {
	return q.Type.Kind == exporter.KindHost || slices.ContainsFunc(r.allWindows(), func(w store.WindowInfo) bool {
		return w.Kind == q.Type.Kind && w.Kernel
	})
}

// cpuType is the type of CPU time that is shown where none is asked for: what the host
// saw, if nothing else did.
func (r *Reader) cpuType() flameql.Type {
	if !r.has(exporter.KindCPU) && r.has(exporter.KindHost) {
		return flameql.Host
	}
	return flameql.CPU
}

// services returns the services that there are profiles of.
func (r *Reader) services() services {
	if r.held == nil {
		r.held = services{}
		for _, w := range r.allWindows() {
			r.held = append(r.held, w.Service)
		}
		slices.Sort(r.held)
		r.held = slices.Compact(r.held)
	}
	return r.held
}

func (r *Reader) list(about string, q store.SpanQuery) store.SpanList {
	return ask(r, about, func() (store.SpanList, error) { return r.view.Spans(q) })
}

func (r *Reader) spans(q store.SpanQuery) []store.Span { return r.list("spans", q).Spans }

// span returns a span by its id. An empty id is of none.
func (r *Reader) span(id string) (span store.Span, known bool) {
	if id == "" {
		return span, false
	}
	found := r.list("span "+id, store.SpanQuery{ID: id}).Spans
	if len(found) == 0 {
		return span, false
	}
	return found[0], true
}

// totals returns the number of samples by kind that meet the conditions of q.
func (r *Reader) totals(q Query) []store.Sum {
	asked := q.store()
	asked.Kind, asked.SampleType = "", ""
	return r.sumsOf("kinds", q, asked).Sums
}

// selection returns the samples that q selects, summed by stack.
func (r *Reader) selection(q Query) *store.Samples {
	asked := q.store()
	asked.Stacks = true
	return r.sumsOf("select", q, asked)
}

// sumsOf returns the answer to a query of samples, a zero value if there is none.
func (r *Reader) sumsOf(action string, q Query, asked store.Query) *store.Samples {
	if r.err == nil {
		answer, err := r.view.Samples(asked)
		if err == nil {
			return answer
		}
		r.err = queryError(action, q, err)
	}
	return new(store.Samples)
}

// services are the names of services in alphabetical order. A process has one, but a
// store may take in profiles of several.
type services []string

func (s services) several() bool { return len(s) > 1 }

func (s services) among(name string) bool { return s.several() && slices.Contains(s, name) }

// query returns the query for the CPU time of a service.
func (s services) query(name string) flameql.Query {
	q := flameql.ForService(name)
	if q.App == "" && s.among(name) {
		// FlameQL cannot spell the name.
		return q.WithEqual("service_name", name)
	}
	return q
}
