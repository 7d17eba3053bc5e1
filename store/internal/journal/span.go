// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// header is the first line of a file of spans.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Windows are those whose counts the file has.
	Windows []Window `json:"windows,omitempty"`
}

const spansFormat = "spanprof spans"

// maxSpansBytes bounds what a file of spans can have, unzipped. MaxSpans is how many a
// file has at most: a span has up to 6 KiB.
const (
	maxSpansBytes = 256 << 20
	MaxSpans      = 16 << 10
)

func encodeSpans(windows []Window, spans []Span) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	lines := json.NewEncoder(z)
	lines.SetEscapeHTML(false)
	err = lines.Encode(header{spansFormat, version, windows})
	for i := range spans {
		if err == nil {
			err = lines.Encode(&spans[i])
		}
	}
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// decodeSpans returns the spans of a file if all of it can be read: no span of a damaged
// file is given.
func decodeSpans(data []byte) ([]Window, []Span, error) {
	text, err := unzipped(data, maxSpansBytes)
	if err != nil {
		return nil, nil, err
	}
	lines := json.NewDecoder(bytes.NewReader(text))
	var h header
	if err := lines.Decode(&h); err != nil {
		return nil, nil, err
	}
	if h.Format != spansFormat || h.Version != version {
		return nil, nil, fmt.Errorf("it is %q version %d, and this program reads %q version %d", h.Format, h.Version, spansFormat, version)
	}
	var spans []Span
	for {
		var s Span
		switch err := lines.Decode(&s); {
		case errors.Is(err, io.EOF):
			return h.Windows, spans, nil
		case err != nil:
			return nil, nil, err
		}
		spans = append(spans, s)
	}
}
