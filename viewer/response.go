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
)

func parseFormat(name string, fallback format) (format, error) {
	switch f := format(name); f {
	case "":
		return fallback, nil
	case formatHTML, formatJSON, formatText, formatFolded, formatPprof:
		return f, nil
	}
	return "", answer.BadRequestf("unknown format %q: known are html, json, text, folded and pprof", name)
}

// response is a complete answer. It is built before anything is sent, so that an error
// can have a status of its own.
type response struct {
	contentType string
	// disposition is the Content-Disposition of a download.
	disposition string
	// head comes before body, which other responses may share.
	head, body []byte
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

// dataResponse answers data as text or, in any other format, as JSON.
func dataResponse(data texter, f format, err error) (response, error) {
	switch {
	case err != nil:
		return response{}, err
	case f == formatText:
		return textResponse(data.Text()), nil
	}
	return jsonResponse(data)
}

// dataMade is data as text or, in any other format, as JSON.
func dataMade(data answer.Data, f format, err error) (*made, error) {
	if err != nil {
		return nil, err
	}
	if f == formatText {
		return &made{response: textResponse(data.Text()), lasts: data.Lasts()}, nil
	}
	rest, status := data.WithoutStatus()
	resp, err := jsonResponse(rest)
	return responseMade(resp, err, made{status: status, lasts: data.Lasts()})
}

// responseMade is a response that needs nothing more.
func responseMade(resp response, err error, of made) (*made, error) {
	if err != nil {
		return nil, err
	}
	of.response = resp
	return &of, nil
}

// profileMade answers the samples that q selects as pprof or in the folded form.
func profileMade(a *answer.Reader, q answer.Query, f format) (*made, error) {
	if f == formatPprof {
		p, err := a.Pprof(q)
		resp, err := pprofResponse(p, err)
		return responseMade(resp, err, made{})
	}
	folded, err := a.Folded(q)
	return responseMade(textResponse(folded), err, made{})
}

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
		if len(resp.head)+len(resp.body) >= minGzipBytes && acceptsGzip(r.Header) {
			header.Set("Content-Encoding", "gzip")
			resp.head, resp.body = nil, compress(resp.head, resp.body)
		}
	}
	w.WriteHeader(status)
	// Only the connection can fail here.
	if len(resp.head) > 0 {
		_, _ = w.Write(resp.head)
	}
	_, _ = w.Write(resp.body)
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

func compress(head, body []byte) []byte {
	var b bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	z.Reset(&b)
	// Writing to a buffer does not fail.
	_, _ = z.Write(head)
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

// errorJSON is the JSON of an error.
type errorJSON struct {
	Error string `json:"error"`
	// Column is the place of the error in the query, in bytes from 1.
	Column int `json:"column,omitempty"`
}
