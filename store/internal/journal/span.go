// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Span is a span that has ended, as a line of JSON. Times are in nanoseconds, Start since 1970.
type Span struct {
	TraceID    string            `json:"trace_id"`
	SpanID     string            `json:"span_id"`
	ParentID   string            `json:"parent_id,omitempty"`
	Name       string            `json:"name"`
	Service    string            `json:"service,omitempty"`
	Start      int64             `json:"start_ns"`
	Duration   int64             `json:"duration_ns"`
	Err        bool              `json:"error,omitempty"`
	Status     string            `json:"status,omitempty"`
	LocalRoot  bool              `json:"local_root,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// header is the first line of a file of spans.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

const spansFormat = "spanprof spans"

// maxSpansBytes bounds what a file of spans can have, unzipped.
const maxSpansBytes = 64 << 20

func encodeSpans(spans []Span) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	lines := json.NewEncoder(z)
	err := lines.Encode(header{spansFormat, version})
	for i := range spans {
		if err == nil {
			err = lines.Encode(&spans[i])
		}
	}
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// decodeSpans calls each with the spans of a file, after all of it was read: no span of a
// damaged file is given.
func decodeSpans(data []byte, each func(Span)) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxSpansBytes+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxSpansBytes:
		return fmt.Errorf("it has more than %d MiB of spans", maxSpansBytes>>20)
	}
	lines := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	var h header
	if err := lines.Decode(&h); err != nil {
		return err
	}
	if h.Format != spansFormat || h.Version != version {
		return fmt.Errorf("it is %q version %d, and this program reads %q version %d", h.Format, h.Version, spansFormat, version)
	}
	var spans []Span
	for {
		var s Span
		switch err := lines.Decode(&s); {
		case errors.Is(err, io.EOF):
			for _, s := range spans {
				each(s)
			}
			return nil
		case err != nil:
			return err
		}
		spans = append(spans, s)
	}
}
