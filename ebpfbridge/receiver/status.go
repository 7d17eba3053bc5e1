// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import "cmp"

// Status counts what a Receiver has taken.
type Status struct {
	// Messages were received. Refused of them are too large, decoded or not, or break
	// the format's rules. Failed could not be exported.
	Messages, Refused, Failed int
	// Reason is why the last refused message was refused, "" if there is none.
	Reason string
	// First, Witnessed and Placed are samples of this process that are on their spans
	// for certain: as the first of their record, by the labels of an agent that
	// separates records by labels, and by timelines.
	First, Witnessed, Placed int
	// Ambiguous are samples of this process that may belong to any span.
	Ambiguous int
	// Spanless are samples of programs without any label so far: they are of no span.
	Spanless int
	// Other are profiles of this process that are not of CPU time or waiting.
	Other int
	// Lost are samples that hostview had for this process and lost, because
	// [Receiver.Subscribe] did not take them in time.
	Lost int
	// RefusedAgents are connections of users that may not send: see [Listen].
	RefusedAgents int
}

// Status returns what has been counted since New.
func (r *Receiver) Status() Status {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	return r.status
}

func (r *Receiver) count(more Status) {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	for _, c := range counts {
		*c.of(&r.status) += *c.of(&more)
	}
	r.status.Reason = cmp.Or(more.Reason, r.status.Reason)
}

// refuse counts and reports a refused message or connection.
func (r *Receiver) refuse(more Status, err error) {
	r.count(more)
	r.reports.Report(err)
}

// counts are the numbers of Status, with names for people.
var counts = [...]struct {
	words string
	of    func(*Status) *int
}{
	{"agent: messages", func(s *Status) *int { return &s.Messages }},
	{"agent: messages refused", func(s *Status) *int { return &s.Refused }},
	{"agent: samples certain, first of their record", func(s *Status) *int { return &s.First }},
	{"agent: samples certain by labels or Link", func(s *Status) *int { return &s.Witnessed }},
	{"agent: samples certain by timelines", func(s *Status) *int { return &s.Placed }},
	{"agent: samples ambiguous", func(s *Status) *int { return &s.Ambiguous }},
	{"agent: samples without any label so far", func(s *Status) *int { return &s.Spanless }},
	{"agent: profiles of other kinds", func(s *Status) *int { return &s.Other }},
	{"agent: samples lost by hostview", func(s *Status) *int { return &s.Lost }},
	{"agent: profiles not exported", func(s *Status) *int { return &s.Failed }},
	{"agent: connections refused", func(s *Status) *int { return &s.RefusedAgents }},
}

// Counters yields the numbers of Status with names for people, as the page of package
// inprocess shows them:
//
//	profiling.AddCounters(r.Counters)
func (r *Receiver) Counters(yield func(name string, n uint64) bool) {
	s := r.Status()
	for _, c := range counts {
		if !yield(c.words, uint64(*c.of(&s))) {
			return
		}
	}
}
