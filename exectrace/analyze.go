// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// Errors of Analyze.
var (
	// ErrFormat is returned for other input than an execution trace, and for unknown formats.
	ErrFormat = errors.New("exectrace: not an execution trace in the format of go 1.22, 1.23, 1.25 or 1.26")
	// ErrDamaged is returned for incomplete and damaged traces. No part of them is trusted.
	ErrDamaged = errors.New("exectrace: the trace is damaged, or was cut off")
)

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
// The error wraps ErrFormat, ErrDamaged or an error of r.
func Analyze(r io.Reader, q Query) (*Analysis, error) {
	return analyze(r, q, maxInput, maxKept)
}

func analyze(r io.Reader, q Query, mostInput, mostKept int64) (*Analysis, error) {
	in := &input{r: r, left: mostInput}
	format, whole, err := readFormat(in)
	if err != nil {
		return nil, err
	}
	t, err := timeline.Read(whole, mostKept)
	switch {
	case in.err != nil:
		return nil, in.err
	case in.left < 0:
		return nil, fmt.Errorf("exectrace: the trace has more than %d bytes: record a shorter time", mostInput)
	case errors.Is(err, timeline.ErrPanic):
		return nil, fmt.Errorf("exectrace: %w", err)
	case err != nil:
		return nil, fmt.Errorf("%w: %.500s", ErrDamaged, err.Error()) // the reader adds all it has
	}
	a := &Analysis{
		Format: format, Duration: duration(t.End), Start: t.Wall, Cut: t.Cut,
		BeganBefore: t.EndedUnseen, Spans: []Span{},
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

// headerBytes is the length of a header.
const headerBytes = 16

// readFormat returns the format of a trace, and the trace from its beginning.
func readFormat(in *input) (string, io.Reader, error) {
	whole := bufio.NewReader(in)
	header, err := whole.Peek(headerBytes)
	if err != nil && in.err != nil {
		return "", nil, in.err
	}
	format, rest, _ := strings.Cut(string(header), " trace")
	switch {
	case rest != "\x00\x00\x00":
		return "", nil, ErrFormat
	case format == "go 1.22", format == "go 1.23", format == "go 1.25", format == "go 1.26": // Go 1.27 writes 1.26 too
		return format, whole, nil
	}
	return "", nil, fmt.Errorf("%w: it is %q", ErrFormat, format)
}

// input is a bounded reader that keeps the error of r.
type input struct {
	r    io.Reader
	left int64 // negative after more than the bound
	err  error
}

func (in *input) Read(p []byte) (int, error) {
	if in.left < 0 || len(p) == 0 {
		return 0, io.EOF
	}
	n, err := in.r.Read(p[:min(int64(len(p)), in.left+1)])
	if in.left -= int64(n); in.left < 0 {
		return n - 1, io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}
