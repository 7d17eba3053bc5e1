// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package selfcheck finds what separates profiles from their spans: a provider without
// the wrapper, a kind without its rate, a second profiler. Package inprocess collects the
// [Facts]. checks.go is the table of checks, for the page, its JSON and text, and the log.
package selfcheck

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// Facts describe a program. No check finds anything in the zero value.
type Facts struct {
	// Off is a sentence if the environment switches everything off.
	Off string

	// Profiler is zero in a program without one. MutexFraction is the runtime's, and
	// BlockEvents the number of stacks that have blocked.
	Profiler                               profiler.Status
	MutexFraction, BlockEvents, Goroutines int

	// Store is zero in a program without one. RunningLong is the number of local roots
	// that are open for Long or more; it may be bounded.
	Store       store.Stats
	Tracers     []store.Tracer
	RunningLong int
	// Service is the service.name of spans, if HasSpans. Profiled are the names in CPU
	// profiles if they differ.
	HasSpans bool
	Service  string
	Profiled []string

	// Given reports whether there is a tracer provider, NoOp whether it makes no spans.
	Given, NoOp bool
	// Inner reports whether the global provider is the one inside the given wrapper. Apart
	// reports whether it is unset or certainly another one.
	Inner, Apart bool
	// Lost is about how many labelled spans started after a shutdown of the given provider.
	// It is 0 while the store records spans.
	Lost uint64

	// Wrappers is the number of TracerProviders of package spanprof. NoProfileID reports
	// whether spans lack the attribute that marks labelled ones.
	Wrappers               int
	NoProfileID, PublicAPI bool
	// Sampled and Unsampled are about how many spans were started.
	Sampled, Unsampled uint64
	// These are counters of package spanlabels.
	EndedElsewhere, Wiped, NoRoom uint64
	NamesFull                     int64
}

// Long is how long a span may run until it looks forgotten.
const Long = 10 * time.Minute

// EnoughCPU is how much sampled CPU time is enough for the log. Tests reduce it before
// the first check.
var EnoughCPU = 5 * time.Second

const (
	fewSpans    = 10  // enough for the page
	enoughSpans = 100 // enough for the log
)

// enough reports whether spans and CPU time suffice to log a finding about labels.
func (f *Facts) enough(spans int64) bool {
	return spans >= enoughSpans && f.Store.CPUTime >= EnoughCPU
}

// many reports whether n is a large part of the labelled spans.
func (f *Facts) many(n uint64) bool { return n >= enoughSpans && n >= f.Sampled/10 }

// unlabelled returns the tracers without a labelled span, the number of their spans and
// the number of all spans.
func (f *Facts) unlabelled() (names []string, spans, all int64) {
	if f.Off != "" || f.NoProfileID || f.NoRoom > 0 {
		return nil, 0, 0
	}
	for _, t := range f.Tracers {
		all += t.Roots
		if t.Roots > 0 && t.Unlabelled == t.Roots {
			names = append(names, t.Name)
			spans += t.Roots
		}
	}
	return names, spans, all
}

// failing returns the first destination that fails now, and its error. A check of its own
// is about a store that is too small.
func (f *Facts) failing() string {
	for _, l := range f.Profiler.Lanes {
		if l.LastError != nil && l.LastErrorTime.After(l.LastSuccess) && (l.Name != "store" || f.Store.WindowsRefused == 0) {
			line, _, _ := strings.Cut(l.LastError.Error(), "\n")
			return l.Name + ": " + termtext.Clip(line, termtext.MaxQuoted)
		}
	}
	return ""
}

// Wrong and Note are the severities. Wrong is a mistake: the program lacks something that
// it uses. A Note may be intended.
const (
	Wrong = "wrong"
	Note  = "note"
)

// Finding is the result of a check. Log reports whether it belongs in the log.
type Finding struct {
	viewer.Finding
	Log bool
}

// Headline returns the reason why the profiler does not measure as usual, empty if it does.
func Headline(found []Finding) string {
	for _, id := range head {
		if i := slices.IndexFunc(found, func(f Finding) bool { return f.ID == id }); i >= 0 {
			return found[i].Seen
		}
	}
	return ""
}

// Log remembers logged findings. The zero value is ready to use, concurrently too.
type Log struct{ logged sync.Map }

// News returns an error for each finding that must be logged now. Each is logged once, and
// only one about spans without labels: the finding changes if a wrapper is collected.
func (l *Log) News(found []Finding) (news []error) {
	for _, f := range found {
		cause := f.ID
		if cause == notGlobal || cause == beforeWrap {
			cause = notWrapped
		}
		if !f.Log {
			continue
		}
		if _, logged := l.logged.LoadOrStore(cause, true); !logged {
			news = append(news, fmt.Errorf("self-check %s: %s %s", f.ID, f.Seen, f.Do))
		}
	}
	return news
}

// Gaps returns why CPU was not profiled all the time, empty if unknown.
func Gaps(f *Facts) string {
	p := &f.Profiler
	switch {
	case p.Profilers > 1:
		return "another profiler of this process has the CPU profiler"
	case p.CPUForeign > 0:
		return fmt.Sprintf("something else in this process had the CPU profiler or stopped the profile, %s so far", count(p.CPUForeign, "time"))
	}
	return ""
}

func count[N int | int64 | uint64](n N, noun string) string {
	return termtext.Plural(int64(n), noun)
}

// list returns the first names, each in quotes, on one line and bounded.
func list(names ...string) string {
	const most = 3
	var quoted []string
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%q", termtext.Clip(strings.ToValidUTF8(name, "?"), termtext.MaxQuoted)))
	}
	text := strings.Join(quoted, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
