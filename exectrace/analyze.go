// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// ErrDamaged is returned for damaged and incomplete traces, and for other input. No part of it
// is trusted. The formats of Go 1.22 to 1.27 are known.
var ErrDamaged = errors.New("exectrace: not a whole execution trace")

const (
	// maxInput bounds the bytes of a trace, maxKept the memory of its timeline: about 50 bytes
	// for each change of a goroutine's state.
	maxInput, maxKept = 256 << 20, 256 << 20

	defaultSlowest = 20
	mostSpans      = 1000
)

// Query selects local roots.
type Query struct {
	// IDs selects spans by id, each 16 hex digits. Name selects by name. Empty selects all.
	IDs  []string
	Name string
	// Slowest is the largest number of spans, at most 1,000; 0 means 20. With IDs it is unused.
	Slowest int
}

// Analyze reads an execution trace of at most 256 MiB to its end. If the spans in it need
// more than 256 MiB of memory, the rest is left out: see Analysis.Cut.
//
// The error wraps ErrDamaged or an error of r.
func Analyze(r io.Reader, q Query) (*Analysis, error) {
	return analyze(r, q, maxInput, maxKept)
}

func analyze(r io.Reader, q Query, mostInput, mostKept int64) (*Analysis, error) {
	in := &input{LimitedReader: io.LimitedReader{R: r, N: mostInput + 1}}
	t, err := timeline.Read(in, mostKept)
	switch {
	case in.err != nil:
		return nil, in.err
	case in.N <= 0:
		return nil, fmt.Errorf("exectrace: the trace has more than %d bytes: record a shorter time", mostInput)
	case errors.Is(err, timeline.ErrPanic):
		return nil, fmt.Errorf("exectrace: %w", err)
	case errors.Is(err, timeline.ErrFormat):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %.500s", ErrDamaged, err.Error()) // the reader adds all it has
	}
	a := &Analysis{
		Duration: duration(t.End), Start: t.Wall, Cut: t.Cut,
		BeganBefore: t.EndedUnseen,
	}
	for i := range t.Spans {
		if t.Spans[i].IsRoot() {
			a.Roots++
		}
		if t.Spans[i].Marked {
			a.Marked++
		}
	}
	a.Spans = analyzeSpans(t, q.choose(t), pieceBudget)
	return a, nil
}

// choose returns the selected local roots, the slowest first.
func (q *Query) choose(t *timeline.Timeline) []int32 {
	var roots []int32
	for i := range t.Spans {
		s := &t.Spans[i]
		switch {
		case !s.IsRoot(), q.Name != "" && s.Name != q.Name, len(q.IDs) > 0 && !slices.Contains(q.IDs, spanID(s)):
		default:
			roots = append(roots, int32(i))
		}
	}
	slices.SortStableFunc(roots, func(a, b int32) int {
		x, y := &t.Spans[a], &t.Spans[b]
		return cmp.Compare(y.End-y.Start, x.End-x.Start)
	})
	most := min(cmp.Or(q.Slowest, defaultSlowest), mostSpans)
	if len(q.IDs) > 0 {
		most = mostSpans
	}
	return roots[:min(len(roots), max(most, 0))]
}

// input is a bounded reader that keeps the error of r.
type input struct {
	io.LimitedReader
	err error
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.LimitedReader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}
