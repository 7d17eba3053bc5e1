// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// FormatError says that the input is no execution trace, or one of a format that this
// version of exectrace does not know: of Go before 1.22, or of a newer one than
// golang.org/x/exp/trace knew.
type FormatError struct {
	Format string // such as "go 1.31"; "" where the input is no execution trace
}

func (e *FormatError) Error() string {
	if e.Format == "" {
		return "exectrace: not an execution trace of Go: save /debug/pprof/trace, or what runtime/trace wrote"
	}
	return fmt.Sprintf("exectrace: the trace's format is that of %s; known are go 1.22, 1.23, 1.25 and 1.26, which Go 1.27 writes too", e.Format)
}

// ParseError says that a trace is damaged: cut off, or not what the runtime writes. Nothing
// of such a trace is shown, as what came before may be wrong too.
type ParseError struct{ Err error }

func (e *ParseError) Error() string {
	text := e.Err.Error()
	if len(text) > maxErrorText { // the reader adds all that it knows
		text = text[:maxErrorText] + "..."
	}
	return "exectrace: the trace is damaged, or was cut off: " + text
}

func (e *ParseError) Unwrap() error { return e.Err }

// SizeError says that a trace has more bytes than WithMaxInput allows.
type SizeError struct{ Max int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("exectrace: the trace has more than %d bytes: record a shorter time", e.Max)
}

const (
	maxErrorText = 500

	defaultMaxInput = 256 << 20
	defaultMaxBytes = 256 << 20
	defaultSlowest  = 20
	mostSpans       = 1000
)

// An AnalyzeOption changes how Analyze works.
type AnalyzeOption interface{ apply(*analyzeConfig) }

type analyzeConfig struct {
	maxInput, maxBytes int64
	slowest            int
	ids                map[string]bool
	name               string
	byName             bool
	quick              bool
	stopped            func() error
}

type analyzeOption func(*analyzeConfig)

func (f analyzeOption) apply(c *analyzeConfig) { f(c) }

// WithSlowest has Analyze return the n slowest local roots, at most 1,000. The default is 20.
func WithSlowest(n int) AnalyzeOption {
	return analyzeOption(func(c *analyzeConfig) { c.slowest = min(max(n, 0), mostSpans) })
}

// WithSpanIDs has Analyze return the spans with these ids alone, each 16 hex digits.
func WithSpanIDs(ids ...string) AnalyzeOption {
	return analyzeOption(func(c *analyzeConfig) {
		c.ids = make(map[string]bool, len(ids))
		for _, id := range ids {
			c.ids[id] = true
		}
	})
}

// WithName has Analyze return local roots of this name alone.
func WithName(name string) AnalyzeOption {
	return analyzeOption(func(c *analyzeConfig) { c.name, c.byName = name, true })
}

// quickly has the spans share the CPU time that one may take otherwise, and leaves Names out.
var quickly = analyzeOption(func(c *analyzeConfig) { c.quick = true })

// until has Analyze end, soon after stopped returns an error, with that.
func until(stopped func() error) AnalyzeOption {
	return analyzeOption(func(c *analyzeConfig) { c.stopped = stopped })
}

// WithMaxInput bounds the bytes of the trace. The default is 256 MiB.
func WithMaxInput(n int64) AnalyzeOption {
	return analyzeOption(func(c *analyzeConfig) { c.maxInput = n })
}

// Analyze reads an execution trace until its end and says where the time of its spans went.
// It reads all of r before it returns, or as far as it is allowed to.
//
// The error is a *FormatError, a *ParseError, a *SizeError, or one of r.
func Analyze(r io.Reader, options ...AnalyzeOption) (*Analysis, error) {
	c := analyzeConfig{maxInput: defaultMaxInput, maxBytes: defaultMaxBytes, slowest: defaultSlowest, stopped: func() error { return nil }}
	for _, o := range options {
		o.apply(&c)
	}
	in := &input{r: r, left: c.maxInput}
	format, whole, err := readFormat(in)
	if err != nil {
		return nil, err
	}
	t, err := timeline.Read(whole, c.maxBytes, c.stopped)
	switch {
	case c.stopped() != nil:
		return nil, c.stopped()
	case in.err != nil:
		return nil, in.err
	case in.left < 0:
		return nil, &SizeError{c.maxInput}
	case err != nil:
		return nil, &ParseError{err}
	}
	a := &Analysis{
		Format: format, Duration: duration(t.End), Start: t.Wall, Cut: t.Cut,
		BeganBefore: t.EndedUnseen, Spans: []Span{}, Names: []Name{},
	}
	for i := range t.Spans {
		if t.Spans[i].IsRoot() {
			a.Roots++
		}
		if t.Spans[i].Marked {
			a.Marked++
		}
	}
	if c.quick {
		a.Spans = analyzeTogether(t, c.choose(t), pieceBudget, c.stopped)
		if err := c.stopped(); err != nil {
			return nil, err
		}
		return a, nil
	}
	for _, root := range c.choose(t) {
		a.Spans = append(a.Spans, analyzeSpan(t, root, pieceBudget))
	}
	a.Names = names(t)
	return a, nil
}

// choose returns the local roots that are asked for, the slowest first.
func (c *analyzeConfig) choose(t *timeline.Timeline) []int32 {
	var roots []int32
	for i := range t.Spans {
		s := &t.Spans[i]
		switch {
		case !s.IsRoot(), c.byName && s.Name != c.name, c.ids != nil && !c.ids[spanID(s)]:
		default:
			roots = append(roots, int32(i))
		}
	}
	slices.SortStableFunc(roots, func(a, b int32) int {
		x, y := &t.Spans[a], &t.Spans[b]
		return int(min(max((y.End-y.Start)-(x.End-x.Start), -1), 1))
	})
	most := c.slowest
	if c.ids != nil {
		most = mostSpans
	}
	return roots[:min(len(roots), most)]
}

var formats = regexp.MustCompile(`^go 1\.(\d{1,3}) trace\x00\x00\x00$`)

// headerBytes is the length of a header for a version of two digits, as all have that are
// known.
const headerBytes = 16

// readFormat returns the format of the trace in r, and r from its beginning.
func readFormat(in *input) (string, io.Reader, error) {
	whole := bufio.NewReader(in)
	header, err := whole.Peek(headerBytes)
	if err != nil && in.err != nil {
		return "", nil, in.err
	}
	match := formats.FindSubmatch(header)
	if match == nil {
		return "", nil, &FormatError{}
	}
	format := "go 1." + string(match[1])
	switch string(match[1]) {
	case "22", "23", "25", "26":
		return format, whole, nil
	}
	return "", nil, &FormatError{format}
}

// input is a bounded reader that keeps the error of what it reads from.
type input struct {
	r    io.Reader
	left int64 // negative where there was more
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
