// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Span is a span that has ended, as a line of JSON. Times are in nanoseconds, Start since 1970.
type Span struct {
	TraceID   string `json:"trace_id"`
	SpanID    string `json:"span_id"`
	ParentID  string `json:"parent_id,omitempty"`
	Name      string `json:"name"`
	Service   string `json:"service,omitempty"`
	Start     int64  `json:"start_ns"`
	Duration  int64  `json:"duration_ns"`
	Err       bool   `json:"error,omitempty"`
	Status    string `json:"status,omitempty"`
	LocalRoot bool   `json:"local_root,omitempty"`
	// Label is the span_name label of its samples.
	Label string `json:"label,omitempty"`
	// CPU is its own CPU time, CPUBelow that of the spans below it.
	CPU         int64 `json:"cpu_ns,omitempty"`
	CPUBelow    int64 `json:"cpu_below_ns,omitempty"`
	CPUSamples  int64 `json:"cpu_samples,omitempty"`
	WallSamples int64 `json:"wall_samples,omitempty"`
	// Coverage says how much of its time CPU was profiled: whole, partial or none.
	Coverage string `json:"coverage,omitempty"`
	// Loss is samples or summary where that is lost.
	Loss       string      `json:"loss,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
	// AttributesOmitted says that there was no room for others.
	AttributesOmitted bool `json:"attributes_omitted,omitempty"`
	// Process is the one that the span is of, where it is not that of the run.
	Process *Process `json:"process,omitempty"`
}

// Attribute is an attribute of a span, or of a child of it.
type Attribute struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Child   string `json:"child,omitempty"`
	OfChild bool   `json:"of_child,omitempty"`
}

// Window is what was counted by name while a window was open, also of spans that are
// not kept. File is the name of its file.
type Window struct {
	File  string  `json:"file"`
	Names []Count `json:"names"`
	// Begun says that others of its names are in a file already.
	Begun bool `json:"-"`
}

// Count is the sums of the spans of one name.
type Count struct {
	Service     string `json:"service,omitempty"`
	Name        string `json:"name"`
	Label       string `json:"label,omitempty"`
	Spans       int64  `json:"spans,omitempty"`
	Errors      int64  `json:"errors,omitempty"`
	Duration    int64  `json:"duration_ns,omitempty"`
	MaxDuration int64  `json:"max_duration_ns,omitempty"`
	CPU         int64  `json:"cpu_ns,omitempty"`
	CPUSamples  int64  `json:"cpu_samples,omitempty"`
}

// format is what the first line of a file of spans begins with, in all versions.
type format struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// counted is the rest of that line: the counts of windows. One with many names comes in
// parts.
type counted[W any] struct {
	Windows []W `json:"windows,omitempty"`
}

const spansFormat = "spanprof spans"

const (
	// windowsBytes and spansBytes are how much a file has, unzipped, before the next one
	// begins: with the last part of a window, 128 names of at most 18 KiB each, and
	// with the last span it has less than a process reads.
	windowsBytes = minUnzipped / 4
	spansBytes   = minUnzipped / 4 * 3
	partNames    = 128
	// minLine is less than the line of any span. A Span takes five times as much memory.
	minLine = 64
)

// small returns windows in parts that a file has room for.
func small(windows []Window) (parts []Window) {
	for _, w := range windows {
		for names := range slices.Chunk(w.Names, partNames) {
			parts = append(parts, Window{File: w.File, Names: names, Begun: w.Begun})
		}
	}
	return parts
}

// counter counts what is written.
type counter struct {
	io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.Writer.Write(p)
}

// encodeSpans returns a file with as many windows and spans as it has room for, the first
// of each, and how many these are.
func encodeSpans(windows []Window, spans []Span) (data []byte, nWindows, nSpans int, err error) {
	var h struct {
		format
		counted[json.RawMessage]
	}
	h.format = format{spansFormat, version}
	for size := 0; nWindows < len(windows) && size < windowsBytes && err == nil; nWindows++ {
		var text []byte
		text, err = json.Marshal(&windows[nWindows])
		h.Windows, size = append(h.Windows, text), size+len(text)
	}
	var b bytes.Buffer
	z, zipErr := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err = errors.Join(err, zipErr); err != nil {
		return nil, 0, 0, err
	}
	text := &counter{Writer: z}
	lines := json.NewEncoder(text)
	lines.SetEscapeHTML(false)
	err = lines.Encode(h)
	for ; nSpans < len(spans) && text.n < spansBytes && err == nil; nSpans++ {
		err = lines.Encode(&spans[nSpans])
	}
	err = errors.Join(err, z.Close())
	return b.Bytes(), nWindows, nSpans, err
}

// decodeSpans returns the spans of a file if all of it can be read: no span of a damaged
// file is given.
func decodeSpans(data []byte) ([]Window, []Span, error) {
	windows, lines, err := decodeCounts(data)
	if err != nil {
		return nil, nil, err
	}
	var spans []Span
	for {
		var s Span
		switch err := lines.Decode(&s); {
		case errors.Is(err, io.EOF):
			return windows, spans, nil
		case err != nil:
			return nil, nil, err
		}
		if spans = append(spans, s); int64(len(spans))*minLine > lines.InputOffset() {
			return nil, nil, errors.New("it has lines that are no spans")
		}
	}
}

// decodeCounts returns what the first line of a file of spans has, and the lines after it.
func decodeCounts(data []byte) ([]Window, *json.Decoder, error) {
	text, err := unzipped(data, minUnzipped)
	if err != nil {
		return nil, nil, err
	}
	lines := json.NewDecoder(bytes.NewReader(text))
	var (
		first json.RawMessage
		of    format
		c     counted[Window]
	)
	err = lines.Decode(&first)
	if err == nil {
		err = json.Unmarshal(first, &of)
	}
	if err == nil && of != (format{spansFormat, version}) {
		err = errVersion(of.Format, of.Version, spansFormat)
	}
	if err == nil {
		err = json.Unmarshal(first, &c)
	}
	return c.Windows, lines, err
}
