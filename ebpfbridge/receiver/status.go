// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

// Status counts what a Receiver has taken.
type Status struct {
	// Messages were received. Malformed of them break the format's rules, and Failed
	// could not be exported.
	Messages, Malformed, Failed int
	// First, Witnessed and Placed are samples of this process that are on their spans
	// for certain: as the first of their record, by the labels of an agent that
	// separates records by labels, and by timelines.
	First, Witnessed, Placed int
	// Ambiguous are samples of this process that may belong to any span.
	Ambiguous int
	// LabelsLost are samples with as many labels as an agent keeps, and without the
	// labels of a span. The agent may have dropped them.
	LabelsLost int
	// Other are profiles of this process that are not of CPU time.
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
	r.metrics.add(more)
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	s := &r.status
	s.Messages += more.Messages
	s.Malformed += more.Malformed
	s.Failed += more.Failed
	s.First += more.First
	s.Witnessed += more.Witnessed
	s.Placed += more.Placed
	s.Ambiguous += more.Ambiguous
	s.LabelsLost += more.LabelsLost
	s.Other += more.Other
	s.Lost += more.Lost
	s.RefusedAgents += more.RefusedAgents
}
