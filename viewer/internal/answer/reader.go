// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package answer makes what the viewer answers: the JSON and the text of every page,
// from one view of the profiles. It knows no HTTP.
package answer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Reader makes the answer to one request from one view. It keeps the first error: what it
// reads after that is empty, and the method that makes the answer returns the error.
type Reader struct {
	view store.View
	// live is nil where the source does not take in profiles while it is read. It
	// has no stats either.
	live   store.Live
	stats  store.Stats
	status *Status
	// instance names the handler, and so its source, in generations.
	instance string
	err      error
	// ctx is that of the request.
	ctx context.Context
	// code is where the source code of the program is.
	code *Code
	// ignored are the parameters of the request that nobody knows.
	ignored []string

	// names and windows are kept for further parts of the answer.
	names   []store.NameTotal
	windows []store.WindowInfo
	held    services
}

// NewReader returns a reader of view. status is nil where nothing is known of the
// profiler; the reader completes its message. instance tells the source from others.
func NewReader(view store.View, status *Status, instance string) *Reader {
	r := &Reader{view: view, status: status, instance: instance, ctx: context.Background(), code: &Code{}}
	if live, ok := view.(store.Live); ok {
		r.live, r.stats = live, live.Stats()
	}
	if status != nil && status.Message == "" && status.stopped() {
		status.Message = "Profiling is off: no samples come."
		if r.stats.WindowsReceived > 0 {
			status.Message = "Profiling has stopped: no more samples come."
		}
	}
	return r
}

// Within has sums end with ctx. It comes before any question.
func (r *Reader) Within(ctx context.Context) *Reader {
	r.ctx = ctx
	return r
}

// WithCode sets where the source code of the program is.
func (r *Reader) WithCode(code *Code) *Reader {
	r.code = code
	return r
}

// Ignored tells the reader which parameters of the request nobody knows: answers with
// notes say so.
func (r *Reader) Ignored(params []string) { r.ignored = params }

// summary sums what was selected.
func (r *Reader) summary(sel *store.Selection, fns *flame.Functions) *flame.Summary {
	s, err := flame.SummaryWithin(r.ctx, sel.Stacks, fns)
	if err != nil && r.err == nil {
		r.err = err
	}
	return s
}

// About tells the view the time that the request is about. It comes before any question.
func (r *Reader) About(queries ...Query) {
	ranged, ok := r.view.(store.Ranged)
	if !ok || len(queries) == 0 {
		return
	}
	from, until := queries[0].From, queries[0].Until
	for _, q := range queries[1:] {
		if q.From.IsZero() || q.From.Before(from) {
			from = q.From
		}
		if q.Until.IsZero() || !until.IsZero() && q.Until.After(until) {
			until = q.Until
		}
	}
	ranged.About(from, until)
}

// ranged reports whether answers are about the time asked for alone.
func (r *Reader) ranged() bool {
	_, ok := r.view.(store.Ranged)
	return ok
}

// notes returns what the view has to say about its answers, after other notes.
func (r *Reader) notes(others ...string) string {
	others = slices.DeleteFunc(others, func(note string) bool { return note == "" })
	if noter, ok := r.view.(store.Noter); ok && r.err == nil {
		others = append(others, noter.Notes()...)
	}
	if len(r.ignored) > 0 {
		others = append(others, ignoredNote(r.ignored))
	}
	return strings.Join(others, "; ")
}

// ignoredNote names parameters that do nothing.
func ignoredNote(params []string) string {
	var named []string
	for _, p := range params[:min(len(params), maxNoteNames)] {
		named = append(named, strconv.Quote(termtext.Clip(p, termtext.MaxQuoted)))
	}
	if more := len(params) - maxNoteNames; more > 0 {
		named = append(named, termtext.Plural(more, "more"))
	}
	what := "a parameter that is not known and does nothing"
	if len(params) > 1 {
		what = "parameters that are not known and do nothing"
	}
	return "the address has " + what + ": " + strings.Join(named, ", ")
}

// ask asks the view a question and keeps the first error.
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
	return r.live != nil && (r.status == nil || !r.status.stopped())
}

// generation names what the source holds; "" where it does not change. Another
// handler, or one after a restart, has other names.
func (r *Reader) generation() string {
	if r.live == nil {
		return ""
	}
	return Generation(r.instance, r.live.Generation())
}

// Generation names a generation of the source of a handler.
func Generation(instance string, n uint64) string { return instance + "-" + strconv.FormatUint(n, 36) }

func (r *Reader) nameTotals() []store.NameTotal {
	if r.names == nil {
		r.names = ask(r, "names", r.view.NameTotals)
	}
	return r.names
}

func (r *Reader) allWindows() []store.WindowInfo {
	if r.windows == nil {
		r.windows = ask(r, "windows", func() ([]store.WindowInfo, error) { return r.view.Windows(store.WindowQuery{}) })
	}
	return r.windows
}

// has reports whether there are profiles of a kind.
func (r *Reader) has(kind exporter.Kind) bool {
	return slices.ContainsFunc(r.allWindows(), func(w store.WindowInfo) bool { return w.Kind == kind })
}

// ofHost reports whether an eBPF agent has taken the profiles of q's kind: those of a
// program's own profiler have no frames of the kernel.
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

// CPUTime returns the query for CPU time as the source has it.
func (r *Reader) CPUTime(q Query) Query {
	q.Query = q.OfType(r.cpuType())
	return q
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

func (r *Reader) span(id string) (span store.Span, known bool) {
	span = ask(r, "span "+id, func() (s store.Span, err error) {
		s, known, err = r.view.Span(id)
		return s, err
	})
	return span, known && r.err == nil
}

func (r *Reader) spans(q store.SpanQuery) []store.Span {
	return ask(r, "spans", func() ([]store.Span, error) { return r.view.Spans(q) })
}

// totals returns the number of samples by kind that meet the conditions of q.
func (r *Reader) totals(q Query) []store.KindTotal {
	asked := q.store()
	asked.Kind, asked.SampleType = "", ""
	return ask(r, "kinds", func() ([]store.KindTotal, error) { return r.view.Kinds(asked) })
}

// selection returns the samples that q selects, summed by stack.
func (r *Reader) selection(q Query) *store.Selection {
	return selected(r, "select", q, r.view.Select)
}

// selected asks for what q selects. It returns a zero value where there is no answer.
func selected[T any](r *Reader, action string, q Query, question func(store.Query) (*T, error)) *T {
	if r.err == nil {
		answer, err := question(q.store())
		if err == nil {
			return answer
		}
		r.err = queryError(action, q, err)
	}
	return new(T)
}
