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
)

// minGzipBytes is the length below which compressing saves no packet.
const minGzipBytes = 1400

// response is a complete answer. It is built before anything is sent, so that
// an error can still be answered as one.
type response struct {
	contentType string
	// disposition is the Content-Disposition, if there is one.
	disposition string
	body        []byte
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
	// What fails here is the connection, and there is nobody left to tell.
	_, _ = w.Write(resp.body)
}

// gzipLevel takes half the time of the default level and gives 6 % more bytes,
// for the flame graph of 10,000 samples.
const gzipLevel = 5

// gzipWriters are kept: a new one clears 800 kB first.
var gzipWriters = sync.Pool{New: func() any {
	// The level is a valid one.
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

func acceptsGzip(header http.Header) bool {
	for _, field := range header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(field, ",") {
			name, params, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				q := strings.TrimSpace(params)
				return strings.Trim(q, "q=0. ") != "" || q == ""
			}
		}
	}
	return false
}

// writeError answers an error in the format that was asked for. A browser gets
// the page, which asks again for JSON and shows the error in its place.
func writeError(w http.ResponseWriter, r *http.Request, f format, err error) {
	status := http.StatusInternalServerError
	if _, ok := errors.AsType[badRequest](err); ok {
		status = http.StatusBadRequest
	}
	if r.Context().Err() != nil {
		// Of whom nobody waits for, or a handler around this one that has
		// had enough.
		status = http.StatusServiceUnavailable
	}
	switch f {
	case formatHTML:
		pageResponse().write(w, r, status)
	case formatJSON:
		e := errorJSON{Error: err.Error()}
		if syntax, ok := errors.AsType[*syntaxError](err); ok {
			e.Column = syntax.column
		}
		resp, err := jsonResponse(e)
		if err != nil {
			http.Error(w, "spanprof: "+err.Error(), http.StatusInternalServerError)
			return
		}
		resp.write(w, r, status)
	default:
		textResponse("spanprof: "+err.Error()+"\n").write(w, r, status)
	}
}

// errorJSON is an error as programs see it.
type errorJSON struct {
	Error string `json:"error"`
	// Column is where in the query the error lies, counted in bytes from 1.
	Column int `json:"column,omitempty"`
}
