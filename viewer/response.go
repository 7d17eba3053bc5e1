// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/viewer/internal/answer"
	"github.com/spanprof/spanprof/viewer/internal/static"
)

// minGzipBytes is the length below which compression saves no packet.
const minGzipBytes = 1400

// format is the form of an answer.
type format string

const (
	formatHTML format = "html"
	formatJSON format = "json"
	formatText format = "text"
	// formatFolded is what flamegraph.pl and speedscope read.
	formatFolded format = "folded"
	formatPprof  format = "pprof"
	// formatFrozen is a page as one file.
	formatFrozen format = "frozen"
)

var formats = []format{formatHTML, formatJSON, formatText, formatFolded, formatPprof, formatFrozen}

// response is a complete answer. It is built before anything is sent, so that an error
// can have a status of its own.
type response struct {
	contentType string
	// disposition is the Content-Disposition of a download.
	disposition string
	body        []byte
}

// pageResponse returns the page, which fetches its data as JSON.
func pageResponse() response {
	return response{contentType: "text/html; charset=utf-8", body: static.Page()}
}

func textResponse(text string) response {
	return response{contentType: "text/plain; charset=utf-8", body: []byte(text)}
}

func jsonResponse(v any) (response, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return response{}, fmt.Errorf("encode: %w", err)
	}
	return response{contentType: "application/json", body: b.Bytes()}, nil
}

// texter is data that has a text form beside its JSON.
type texter interface{ Text() string }

func pprofResponse(p *answer.Pprof, err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return response{}, fmt.Errorf("encode %s: %w", p.FileName, err)
	}
	return response{
		contentType: "application/octet-stream",
		disposition: fmt.Sprintf("attachment; filename=%q", p.FileName),
		body:        b.Bytes(),
	}, nil
}

func (resp response) write(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Set("Content-Type", resp.contentType)
	header.Set("Cache-Control", "no-store")
	if resp.disposition != "" {
		header.Set("Content-Disposition", resp.disposition)
	} else {
		// Profiles are compressed already.
		header.Set("Vary", "Accept-Encoding")
		if len(resp.body) >= minGzipBytes && acceptsGzip(r.Header) {
			header.Set("Content-Encoding", "gzip")
			resp.body = compress(resp.body)
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(resp.body) // Only the connection can fail here.
}

// gzipLevel takes half the time of the default level for 6 % more bytes, on the flame
// graph of 10,000 samples.
const gzipLevel = 5

// gzipWriters are reused: a new one clears 800 kB.
var gzipWriters = sync.Pool{New: func() any {
	// The level is valid.
	z, _ := gzip.NewWriterLevel(io.Discard, gzipLevel)
	return z
}}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	z.Reset(&b)
	// Writing to a buffer does not fail.
	_, _ = z.Write(body)
	_ = z.Close()
	z.Reset(io.Discard)
	gzipWriters.Put(z)
	return b.Bytes()
}

// acceptsGzip ignores weights: browsers and curl --compressed send none.
func acceptsGzip(header http.Header) bool {
	return strings.Contains(header.Get("Accept-Encoding"), "gzip")
}

// writeError answers an error in the format that was asked for. A browser gets the page,
// which fetches the JSON and shows the error in it.
func writeError(w http.ResponseWriter, r *http.Request, f format, err error) {
	status := http.StatusInternalServerError
	if _, ok := errors.AsType[answer.BadRequest](err); ok {
		status = http.StatusBadRequest
	}
	if r.Context().Err() != nil || errors.Is(err, errTooLong) {
		// The client has gone away, or this handler or one around it has timed out.
		status = http.StatusServiceUnavailable
	}
	switch f {
	case formatHTML:
		pageResponse().write(w, r, status)
	case formatJSON:
		e := errorJSON{Error: err.Error()}
		if syntax, ok := errors.AsType[*flameql.SyntaxError](err); ok {
			e.Column = syntax.Column
		}
		resp, _ := jsonResponse(e) // A string and a number can be encoded.
		resp.write(w, r, status)
	default:
		textResponse("spanprof: "+err.Error()+"\n").write(w, r, status)
	}
}

// errorJSON is the JSON of an error.
type errorJSON struct {
	Error string `json:"error"`
	// Column is the place of the error in the query, in characters from 1.
	Column int `json:"column,omitempty"`
}
