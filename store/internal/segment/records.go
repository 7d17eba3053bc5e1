// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"

	"go.opentelemetry.io/otel/trace"
)

// savedRecord is a line of a file of spans.
type savedRecord struct {
	Window *savedWindow `json:"window,omitempty"`
	Span   *savedSpan   `json:"span,omitempty"`
	// Last is set in the last line of a sealed segment, and of a kept set.
	Last bool `json:"last,omitempty"`
}

type savedWindow struct {
	File    string        `json:"file"`
	Kind    exporter.Kind `json:"kind"`
	Service string        `json:"service,omitempty"`
	Version string        `json:"version,omitempty"`
	Start   int64         `json:"start"`
	End     int64         `json:"end"`
}

type savedSpan struct {
	Ended
	Trace      string             `json:"trace,omitempty"`
	Attributes []attributes.Entry `json:"attributes,omitempty"`
}

// savedSpanOf returns a span as it is written.
func (d *disk) savedSpanOf(e *Ended) *savedSpan {
	s := &savedSpan{Ended: *e, Attributes: slices.Collect(d.keys.All(e.Attributes))}
	if e.Trace.IsValid() {
		s.Trace = e.Trace.String()
	}
	return s
}

// maxMember bounds the lines of a gzip member.
const maxMember = 1024

// pack returns lines as gzip members. Their checksums show whether they are whole. text is the
// size of the lines.
func pack(records []savedRecord) (packed []byte, text int64, err error) {
	var lines, b bytes.Buffer
	z := gzip.NewWriter(&b)
	for part := range slices.Chunk(records, maxMember) {
		to := json.NewEncoder(&lines)
		for i := range part {
			if err := to.Encode(&part[i]); err != nil {
				return nil, 0, err
			}
		}
		text += int64(lines.Len())
		z.Reset(&b)
		if _, err := lines.WriteTo(z); err != nil {
			return nil, 0, err
		}
		if err := z.Close(); err != nil {
			return nil, 0, err
		}
	}
	return b.Bytes(), text, nil
}

// appendTo appends a member to the file of spans in a directory. If the disk is full, it
// leaves no part of the member there: that would be damage.
func appendTo(dir string, b []byte) error {
	f, err := files.Append(filepath.Join(dir, spansFile))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		if _, err = f.Write(b); err != nil {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

// ended returns a span of a file. It returns false if this program did not write it.
func (s *savedSpan) ended(keys *attributes.Keys) (Ended, bool) {
	e := s.Ended
	e.Trace, _ = trace.TraceIDFromHex(s.Trace) // zero if absent
	e.Attributes = keys.Restore(s.Attributes)
	valid := e.ID != 0 && s.Duration >= 0 && s.Start > -ident.Latest && s.Start < ident.Latest && s.Duration < ident.Latest
	return e, valid
}

// readLines calls visit for each line of a file of spans, and ends at the first damaged
// member. It holds one member at a time.
func readLines(b []byte, visit func(line []byte) error) error {
	in, room := bytes.NewReader(b), int64(maxFile)
	for z := new(gzip.Reader); in.Len() > 0; {
		if err := z.Reset(in); err != nil {
			return err
		}
		z.Multistream(false)
		text, err := io.ReadAll(io.LimitReader(z, room+1))
		if err != nil {
			return err
		}
		if room -= int64(len(text)); room < 0 {
			return errors.New("it is too large")
		}
		for line := range bytes.Lines(text) {
			if err := visit(line); err != nil {
				return err
			}
		}
	}
	return nil
}
