// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/viewer/internal/answer"
	"github.com/spanprof/spanprof/viewer/internal/static"
)

// minGzipBytes is the length below which compression saves no packet.
const minGzipBytes = 1400

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

func pprofResponse(p *answer.Pprof) response {
	var b bytes.Buffer
	_ = p.Profile.WriteUncompressed(&b) // Writing to a buffer does not fail.
	return response{
		contentType: "application/octet-stream",
		disposition: fmt.Sprintf("attachment; filename=%q", p.FileName),
		body:        compress(b.Bytes()),
	}
}

func (resp response) write(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Set("Content-Type", resp.contentType)
	if resp.disposition != "" {
		header.Set("Content-Disposition", resp.disposition)
	} else {
		// Profiles are compressed already.
		header.Set("Vary", "Accept-Encoding")
		// Weights are ignored: browsers and curl --compressed send none.
		if len(resp.body) >= minGzipBytes && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			header.Set("Content-Encoding", "gzip")
			resp.body = compress(resp.body)
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(resp.body) // Only the connection can fail here.
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	// This level takes half the time of the default one for 6 % more bytes. It is valid.
	z, _ := gzip.NewWriterLevel(&b, 5)
	_, _ = z.Write(body) // Writing to a buffer does not fail.
	_ = z.Close()
	return b.Bytes()
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
		var e struct {
			Error string `json:"error"`
			// Column is the place of the error in the query, in characters from 1.
			Column int `json:"column,omitempty"`
		}
		e.Error = err.Error()
		if syntax, ok := errors.AsType[*flameql.SyntaxError](err); ok {
			e.Column = syntax.Column
		}
		resp, _ := jsonResponse(e) // A string and a number can be encoded.
		resp.write(w, r, status)
	default:
		textResponse("spanprof: "+err.Error()+"\n").write(w, r, status)
	}
}
