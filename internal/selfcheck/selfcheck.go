// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package selfcheck finds what separates profiles from their spans: a provider without
// the wrapper, a kind without its rate, a second profiler. facts.go collects the [Facts].
// checks.go is the table of checks, for the page, its JSON and text, and the log.
package selfcheck

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/viewer"
)

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

// Page returns the result of all checks for the viewer. headline is the reason why the profiler
// does not measure as usual, empty if it does.
func Page(f *Facts) (check viewer.SelfCheck, headline string) {
	found, number := Run(f)
	check = viewer.SelfCheck{Checks: number, Gaps: f.gaps(), SpansStarted: f.Sampled + f.Unsampled, SpansSampled: f.Sampled}
	most := len(head)
	for _, one := range found {
		check.Findings = append(check.Findings, one.Finding)
		if i := slices.Index(head, one.ID); i >= 0 && i < most {
			most, headline = i, one.Seen
		}
	}
	return check, headline
}

// logged has the ids of findings that News has returned.
var logged sync.Map

// News returns an error for each finding that must be logged now. Each is logged once in a
// process.
func News(f *Facts) (news []error) {
	found, _ := Run(f)
	for _, f := range found {
		if _, before := logged.Load(f.ID); f.Log && !before {
			logged.Store(f.ID, true)
			news = append(news, fmt.Errorf("self-check %s: %s %s", f.ID, f.Seen, f.Do))
		}
	}
	return news
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
