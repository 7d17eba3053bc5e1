// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/exporter"
)

// checked wraps the recorder's Timelines and keeps its answers. The receiver makes one
// call at a time.
type checked struct {
	threads *exectrace.Threads
	answers []told
}

type told struct {
	thread int64
	at     time.Time
	span   string
	known  bool
}

func (c *checked) SpanAt(thread int64, at time.Time) (span string, known bool) {
	span, known = c.threads.SpanAt(thread, at)
	c.answers = append(c.answers, told{thread, at, span, known})
	return span, known
}

// judged compares the recorder's answers about threads with what they ran.
type judged struct {
	Right, Wrong int
	Unknown      int // the recorder had no answer
	Scheduler    int // no span, in the time of one: the thread was without its goroutine
	Untold       int // the program has no record: between two slices
}

func (c *checked) judge(truth []slice) (j judged) {
	for _, a := range c.answers {
		i := slices.IndexFunc(truth, func(s slice) bool { return s.thread == a.thread && !a.at.Before(s.start) && !a.at.After(s.end) })
		switch {
		case i < 0:
			j.Untold++
		case !a.known:
			j.Unknown++
		case truth[i].span == a.span:
			j.Right++
		case a.span == "":
			j.Scheduler++
		default:
			j.Wrong++
		}
	}
	return j
}

// samples counts the samples of the workers, by how they were given to a span.
type samples struct {
	First, Timeline, Ambiguous int
	WithoutSpan                int // for sure
	Others                     int // on a span of another worker
	Foreign                    int // on a span of another program
	// Early counts ambiguous samples before the first that the trace placed. In a pid
	// namespace of its own a thread is identified after three samples.
	Early int
}

// taken is an Exporter that counts the samples of the workers.
type taken struct {
	samples
	workers *workers
	known   map[int]bool // workers with a sample that was placed by the trace
	n       atomic.Int64
}

func (t *taken) Export(_ context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	var ambiguous [len(works)]int
	for _, s := range parsed.Sample {
		worker := -1
		for _, l := range s.Location {
			for _, line := range l.Line {
				for i := range works {
					if line.Function.Name == works[i].function {
						worker = i
					}
				}
			}
		}
		if worker < 0 {
			continue
		}
		n := int(s.Value[0])
		switch by := append(s.Label["span_attribution"], "")[0]; by {
		case "first":
			t.First += n
		case "timeline":
			t.Timeline += n
			t.known[worker] = true
		case "ambiguous":
			ambiguous[worker] += n
		default:
			t.WithoutSpan += n
		}
		if id := s.Label[spanprof.LabelSpanID]; len(id) > 0 {
			switch owner, ok := t.workers.owner(id[0]); {
			case !ok:
				t.Foreign += n
			case owner != worker:
				t.Others += n
			}
		}
	}
	for worker, n := range ambiguous {
		if t.known[worker] {
			t.Ambiguous += n
		} else {
			t.Early += n
		}
	}
	t.n.Store(int64(t.Timeline))
	return nil
}

func (t *taken) placed() int { return int(t.n.Load()) }

func (*taken) ForceFlush(context.Context) error { return nil }
func (*taken) Shutdown(context.Context) error   { return nil }
