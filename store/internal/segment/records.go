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
	Process    *Process           `json:"process,omitempty"`
}

// savedSpanOf returns a span as it is written.
func (d *disk) savedSpanOf(e *Ended, p *Process) *savedSpan {
	s := &savedSpan{Ended: *e, Attributes: slices.Collect(d.keys.All(e.Attributes)), Process: p}
	if e.Trace.IsValid() {
		s.Trace = e.Trace.String()
	}
	return s
}

// pack returns lines as one gzip member. Its checksum shows whether it is whole. text is the
// size of the lines.
func pack(records []savedRecord) (packed []byte, text int64, err error) {
	var lines, b bytes.Buffer
	to := json.NewEncoder(&lines)
	for i := range records {
		if err := to.Encode(&records[i]); err != nil {
			return nil, 0, err
		}
	}
	z := gzip.NewWriter(&b)
	if _, err = z.Write(lines.Bytes()); err == nil {
		err = z.Close()
	}
	return b.Bytes(), int64(lines.Len()), err
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

// maxTorn bounds the damaged places of one file that are passed over.
const maxTorn = 64

// readRecords returns the lines of a file of spans, except damaged members. The error is about
// the first of these.
func readRecords(path string) (records []savedRecord, err error) {
	b, err := files.Read(path, files.NoFollow, maxFile)
	if err != nil {
		return nil, err
	}
	torn := 0
	for room := int64(maxFile); len(b) > 0; {
		in := bytes.NewReader(b)
		text, failed := member(in, room)
		if room -= int64(len(text)); room < 0 {
			return records, errors.New("it is too large")
		}
		next := len(b) - in.Len()
		if failed == nil {
			for line := range bytes.Lines(text) {
				var r savedRecord
				if failed = json.Unmarshal(line, &r); failed != nil {
					break
				}
				records = append(records, r)
			}
		} else if next = 1 + bytes.Index(b[1:], []byte("\x1f\x8b\x08")); next == 0 || torn == maxTorn {
			next = len(b)
		}
		if failed != nil {
			torn++
			if err == nil {
				err = failed
			}
		}
		b = b[next:]
	}
	return records, err
}

// member reads a gzip member of at most room bytes, and one more if it is larger.
func member(in *bytes.Reader, room int64) (text []byte, err error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return io.ReadAll(io.LimitReader(z, room+1))
}
