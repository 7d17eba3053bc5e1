// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package selfcheck finds what keeps profiles from their spans: a provider that nothing
// wraps, a kind without its rate, a second profiler. It is the one source of such hints,
// for the page, its JSON and text, and the log.
//
// Checks are functions of [Facts], which package inprocess collects. spans.go, process.go
// and store.go have them by what they are about; log.go says when a finding goes to the
// log.
package selfcheck

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	// Wrong is a mistake: what the program asks for does not come.
	Wrong Severity = "wrong"
	// Note is what to know about the profiles. The program may want it so.
	Note Severity = "note"
)

// Finding is what a check has seen.
type Finding struct {
	// ID names the check for good, in kebab-case.
	ID       string
	Severity Severity
	// Seen says what is seen, with figures, Do what to do about it: one sentence each.
	Seen, Do string
	// Certain says that enough was seen for the log.
	Certain bool
	// Reported says that otel.Handle has heard of it already, by whoever noticed.
	Reported bool
}

// Text returns both sentences.
func (f Finding) Text() string { return f.Seen + " " + f.Do }

// Checks is how many checks Run makes.
var Checks = len(checks)

// checks are all checks, in the order of what they find.
var checks = slices.Concat(spanChecks, processChecks, storeChecks)

// check finds something in facts, or returns nil.
type check func(*Facts) *Finding

// Run returns what the checks find: what is wrong first.
func Run(f *Facts) []Finding {
	var found []Finding
	for _, c := range checks {
		if finding := c(f); finding != nil {
			found = append(found, *finding)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return rank(a) - rank(b) })
	return found
}

func rank(f Finding) int {
	if f.Severity == Wrong {
		return 0
	}
	return 1
}

// count returns a number with its noun: "1 span", "1,204 spans".
func count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// number returns a number with commas.
func number[N int | int64 | uint64](n N) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// percent returns a share in words: "0.3 %".
func percent(part, whole float64) string {
	if whole == 0 {
		return "0 %"
	}
	share := 100 * part / whole
	if share < 10 {
		return fmt.Sprintf("%.1f %%", share)
	}
	return fmt.Sprintf("%.0f %%", share)
}

// maxQuoted bounds a name that the program has given.
const maxQuoted = 80

// quoted returns a program's name in quotes, bounded and on one line.
func quoted(name string) string {
	if r := []rune(strings.ToValidUTF8(name, "?")); len(r) > maxQuoted {
		name = string(r[:maxQuoted]) + "..."
	}
	return fmt.Sprintf("%q", name)
}

// list returns names in quotes, the first few of them.
func list(names []string) string {
	const most = 3
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(name))
	}
	return b.String()
}

// head are the checks that say why nothing is measured, or not as usual, or does not arrive.
var head = []string{
	Disabled, NotStarted, NothingMeasured, SecondProfiler, ForeignProfile, CPUWaits, Failed, NoCPU, Fallback, PublicAPI,
}

// Headline returns what the head of a page says in place of "profiling", "" where the
// profiler does what it should.
func Headline(found []Finding) string {
	for _, id := range head {
		for _, f := range found {
			if f.ID == id {
				return f.Seen
			}
		}
	}
	return ""
}
