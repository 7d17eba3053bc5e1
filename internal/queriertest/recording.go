// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package queriertest stands in for a Pyroscope server in tests. It replays the recorded
// answers of a real one.
package queriertest

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed testdata/v2.json
var recorded []byte

// Recording is the answers of a server, and some facts about its contents.
type Recording struct {
	// From and Until are the time range of the questions. Answers do not depend on it.
	From, Until time.Time
	// Span is the id of a span. CPU is its CPU time, measured by its own process.
	Span          string
	CPU           time.Duration
	Service, Name string
	Exchanges     []struct {
		// Question is the method with the request, without its time.
		Question    string
		ContentType string
		// Answer is set for short answers in JSON, Gzipped for others.
		Answer  json.RawMessage
		Gzipped []byte
	}
}

// Load returns the recording of a server with storage v2.
func Load() (*Recording, error) {
	r := &Recording{}
	return r, json.Unmarshal(recorded, r)
}

// ServeHTTP answers as the server did. The status is 500 for unrecorded questions.
func (r *Recording) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	question, err := questionOf(request)
	for _, e := range r.Exchanges {
		if err != nil || e.Question != question {
			continue
		}
		w.Header().Set("Content-Type", e.ContentType)
		body := []byte(e.Answer)
		if e.Answer == nil {
			// The client unpacks it, as it does a server's.
			w.Header().Set("Content-Encoding", "gzip")
			body = e.Gzipped
		}
		_, _ = w.Write(body)
		return
	}
	http.Error(w, fmt.Sprint("not recorded: ", question, err), http.StatusInternalServerError)
}

func questionOf(request *http.Request) (string, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return "", err
	}
	fields := map[string]any{}
	if strings.HasSuffix(request.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(body, &fields)
	} else {
		fields = Fields(body)
	}
	if err != nil {
		return "", err
	}
	for _, of := range []string{"step", "start", "end"} {
		delete(fields, of)
	}
	text, err := json.Marshal(fields)
	return path.Base(request.URL.Path) + " " + string(text), err
}

// fieldNames are the fields of SelectMergeStacktracesRequest and SelectMergeProfileRequest.
var fieldNames = map[uint64]string{
	1: "profileTypeID", 2: "labelSelector", 3: "start", 4: "end", 6: "format", 10: "traceIdSelector", 11: "spanSelector",
}

// Fields reads a request for a profile in protobuf.
func Fields(message []byte) map[string]any {
	fields := map[string]any{}
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		value, m := binary.Uvarint(message[n:])
		message = message[n+m:]
		name := fieldNames[key>>3]
		if key&7 == 0 {
			fields[name] = value
			continue
		}
		list, _ := fields[name].([]string)
		fields[name] = append(list, string(message[:value]))
		message = message[value:]
	}
	return fields
}
