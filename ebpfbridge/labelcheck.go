// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// The agent's limits for a goroutine's labels.
const (
	maxLabels     = 10 // the first by key
	maxLabelKey   = 15 // bytes
	maxLabelValue = 47 // bytes
)

// ErrLabelBudget is what a LabelCheck reports.
var ErrLabelBudget = errors.New("eBPF agents do not keep all labels")

var _ exporter.Exporter = (*LabelCheck)(nil)

// LabelCheck finds labels that an eBPF agent would lose. The agent keeps the first 10 of
// a goroutine by key. It cuts keys to 15 bytes and values to 47. Use a LabelCheck as one
// of the profiler's exporters. It reads the labels of CPU profiles until it finds such
// labels. It reports them as the error of one Export.
//
// Only samples of spans count. The values of spanprof's own labels may be cut: the
// ids are short, and the receiver restores the names by them.
type LabelCheck struct {
	done atomic.Bool
}

// Export returns an error that is [ErrLabelBudget] once, for the first profile with
// labels that the agent loses.
func (c *LabelCheck) Export(_ context.Context, p *exporter.Profile) error {
	if p.Kind() != exporter.KindCPU || c.done.Load() {
		return nil
	}
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	for _, s := range parsed.Sample {
		if err := checkLabels(s); err != nil && c.done.CompareAndSwap(false, true) {
			return err
		}
	}
	return nil
}

// ForceFlush does nothing.
func (*LabelCheck) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing.
func (*LabelCheck) Shutdown(context.Context) error { return nil }

func checkLabels(s *profile.Sample) error {
	if len(s.Label[labelkey.SpanID]) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(s.Label))
	var lost, cut []string
	for i, key := range keys {
		switch own := isOwn(key); {
		case i >= maxLabels:
			lost = append(lost, key)
		case !own && (len(key) > maxLabelKey || slices.ContainsFunc(s.Label[key], isLong)):
			cut = append(cut, key)
		}
	}
	switch {
	case slices.ContainsFunc(lost, isOwn):
		return fmt.Errorf("ebpfbridge: %w: of %d they lose %s; have fewer labels before %q in the alphabet",
			ErrLabelBudget, len(keys), strings.Join(lost, ", "), labelkey.ProfileID)
	case len(cut) > 0:
		return fmt.Errorf("ebpfbridge: %w: they cut %s to %d bytes of key and %d of value",
			ErrLabelBudget, strings.Join(cut, ", "), maxLabelKey, maxLabelValue)
	}
	return nil
}

func isLong(value string) bool { return len(value) > maxLabelValue }

// isOwn reports whether key is a label that spanprof sets.
func isOwn(key string) bool {
	switch key {
	case labelkey.ProfileID, labelkey.SpanID, labelkey.SpanName, labelkey.TraceID:
		return true
	}
	return false
}
