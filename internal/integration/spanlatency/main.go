// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Spanlatency prints how long the store's OnStart and OnEnd take in a program whose
// processors are busy: beside readers of the page, beside a profiler that exports, and, which
// is the control, beside as many goroutines that only burn CPU. Spans start and end on two
// goroutines. Each row is measured several times, in turn with its control, and shows the
// median round; the goal is a p99 within three times that of the control. A goal that is
// missed is no error.
//
//	go run ./internal/integration/spanlatency
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// goal is how many times the p99 of the control is within the goal.
const goal = 3

// timed is a span processor that measures another one.
type timed struct {
	sdktrace.SpanProcessor
	mu           sync.Mutex
	starts, ends []time.Duration
}

func (t *timed) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	from := time.Now()
	t.SpanProcessor.OnStart(ctx, s)
	took := time.Since(from)
	t.mu.Lock()
	t.starts = append(t.starts, took)
	t.mu.Unlock()
}

func (t *timed) OnEnd(s sdktrace.ReadOnlySpan) {
	from := time.Now()
	t.SpanProcessor.OnEnd(s)
	took := time.Since(from)
	t.mu.Lock()
	t.ends = append(t.ends, took)
	t.mu.Unlock()
}

// quantiles are those that are shown; p99 is the one that has a goal.
var quantiles = [...]float64{0.5, 0.9, 0.99, 1}

const p99 = 2

type times [len(quantiles)]time.Duration

func newTimes(all []time.Duration) (t times) {
	slices.Sort(all)
	for i, q := range quantiles {
		t[i] = all[int(q*float64(len(all)-1))]
	}
	return t
}

// round is what was measured once.
type round struct {
	starts, ends times
	// pages and windows are how many a second were read and exported meanwhile.
	pages, windows float64
}

// row is what spans run beside.
type row struct {
	name string
	// beside are the goroutines that read, or burn CPU if they have no address to read.
	beside int
	// read returns the addresses of the pages, by the ids of spans that the store has.
	read    func(held []trace.SpanContext) []string
	exports bool
}

func main() {
	readers := flag.Int("readers", 50, "goroutines that read or burn CPU, in the rows of many")
	clients := flag.Int("clients", 2, "goroutines that read or burn CPU, in the rows of few")
	spans := flag.Int("spans", 100_000, "spans that are measured in each round, in all")
	held := flag.Int("held", 60_000, "spans that the store has before")
	rounds := flag.Int("rounds", 3, "how often each row is measured")
	flag.Parse()
	if min(*readers, *clients, *spans-1, *held, *rounds) < 1 {
		fmt.Fprintln(os.Stderr, "spanlatency: every number must be above 0, and there must be two spans")
		os.Exit(2)
	}
	l := load{spans: *spans, held: *held}
	groups := [][]row{
		{
			{name: fmt.Sprintf("%d burners (control)", *clients), beside: *clients},
			{name: "nothing"},
			{name: "profiles, one after the other", exports: true},
			{name: fmt.Sprintf("%d clients, pages of spans", *clients), beside: *clients, read: pages},
		},
		{
			{name: fmt.Sprintf("%d burners (control)", *readers), beside: *readers},
			{name: fmt.Sprintf("%d readers, pages of spans", *readers), beside: *readers, read: pages},
			{name: fmt.Sprintf("%d readers, lists by id", *readers), beside: *readers, read: lists},
			{name: fmt.Sprintf("%d readers, both, and profiles", *readers), beside: *readers, read: both, exports: true},
		},
	}
	if err := run(&l, groups, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "spanlatency:", err)
		os.Exit(1)
	}
}

// run measures the rows of each group, the first of which is its control, round by round.
func run(l *load, groups [][]row, rounds int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "beside\tOnStart p50\tp90\tp99\tmax\tto control\tOnEnd p50\tp90\tp99\tmax\tto control\tpages/s\tprofiles/s\tp99 is\t\n")
	for _, rows := range groups {
		measured := make([][]round, len(rows))
		for range rounds {
			for i := range rows {
				r, err := l.measure(&rows[i])
				if err != nil {
					return fmt.Errorf("beside %s: %w", rows[i].name, err)
				}
				measured[i] = append(measured[i], r)
			}
		}
		for i := range rows {
			printRow(w, rows[i].name, measured[i], measured[0])
		}
	}
	return w.Flush()
}

// printRow writes a row: the medians of its rounds, and of the ratios to the rounds of the
// control beside them.
func printRow(w *tabwriter.Writer, name string, rounds, control []round) {
	_, _ = fmt.Fprintf(w, "%s\t", name)
	within := true
	for _, of := range []func(*round) *times{
		func(r *round) *times { return &r.starts },
		func(r *round) *times { return &r.ends },
	} {
		for q := range quantiles {
			_, _ = fmt.Fprintf(w, "%v\t", median(len(rounds), func(i int) time.Duration { return of(&rounds[i])[q] }))
		}
		ratio := median(len(rounds), func(i int) float64 {
			return float64(of(&rounds[i])[p99]) / float64(max(of(&control[i])[p99], 1))
		})
		_, _ = fmt.Fprintf(w, "%.2f\t", ratio)
		within = within && ratio <= goal
	}
	verdict := fmt.Sprintf("within %dx", goal)
	if !within {
		verdict = fmt.Sprintf("NOT within %dx", goal)
	}
	pages := median(len(rounds), func(i int) float64 { return rounds[i].pages })
	windows := median(len(rounds), func(i int) float64 { return rounds[i].windows })
	_, _ = fmt.Fprintf(w, "%.0f\t%.1f\t%s\t\n", pages, windows, verdict)
}

// median returns the median of n values, the lower one of two.
func median[T time.Duration | float64](n int, value func(int) T) T {
	all := make([]T, n)
	for i := range all {
		all[i] = value(i)
	}
	slices.Sort(all)
	return all[(n-1)/2]
}

// spanAttributes are those of the spans that are measured.
func spanAttributes() trace.SpanStartEventOption {
	return trace.WithAttributes(attribute.String("http.route", "/"))
}
