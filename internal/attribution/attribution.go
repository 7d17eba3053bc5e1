// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attribution has the rules by which an eBPF agent's samples are given to spans.
//
// An agent sends records: a stack, labels, and the times at which it was seen. A stock agent
// does not separate records by their labels (open-telemetry/opentelemetry-ebpf-profiler pull
// request 1790). Within a report, all samples of a stack have the labels of the first of them.
package attribution

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// LabelPrefix is the agent's prefix for the keys of goroutine labels. It is not settled yet
// (open-telemetry/semantic-conventions#2561).
const LabelPrefix = "process.context.label."

// Label returns the key that a label has in Go. The ids of spans are found without the prefix
// too. ok is false for other attributes.
func Label(attribute string) (key string, ok bool) {
	key, ok = strings.CutPrefix(attribute, LabelPrefix)
	switch key {
	case labelkey.SpanID, labelkey.TraceID, labelkey.ProfileID:
		ok = true
	}
	return key, ok
}

// Record is a record as the rules see it.
type Record struct {
	Labels map[string]string // of the goroutine, by their keys in Go
	Link   string            // differs between Links, "" without one
	Rest   string            // differs between stacks and between all other attributes
	// Split is set for the rest of a record that was split already.
	Split bool
}

// Witnesses returns by what the first sample and the later ones are a span's: a value of
// labelkey.SpanAttribution. keyed is set if the agent separates records by their labels.
func (r Record) Witnesses(keyed bool) (first, later string) {
	switch linked := r.Link != ""; {
	case r.Split:
		return labelkey.Ambiguous, labelkey.Ambiguous
	case keyed:
		return labelkey.ByLabels, labelkey.ByLabels
	case linked && r.Labels[labelkey.SpanID] == "":
		return labelkey.ByLink, labelkey.ByLink
	case linked:
		return labelkey.First, labelkey.ByLink
	}
	return labelkey.First, labelkey.Ambiguous
}

// haveTwins reports whether two records differ in their labels or Link alone. An agent that
// does not separate records by these never sends such.
func haveTwins(list []Record) bool {
	seen := make(map[string]Record, len(list))
	for _, r := range list {
		if twin, ok := seen[r.Rest]; ok && !r.Split && !twin.Split && (twin.Link != r.Link || !maps.Equal(twin.Labels, r.Labels)) {
			return true
		}
		seen[r.Rest] = r
	}
	return false
}

// maxAgents bounds the agents that are remembered.
const maxAgents = 256

// Agents are the agents that separate records by their labels. It is safe for concurrent use.
type Agents struct {
	mu    sync.Mutex
	keyed []string // the newest last
}

// Keyed reports whether an agent separates records by labels. Twins in a profile of its
// prove it. One sender does not vouch for another.
func (a *Agents) Keyed(agent string, list []Record) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.keyed, agent) {
		return true
	}
	if !haveTwins(list) {
		return false
	}
	if a.keyed = append(a.keyed, agent); len(a.keyed) > maxAgents {
		a.keyed = slices.Delete(a.keyed, 0, 1)
	}
	return true
}
