// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package queriertest stands in for a Pyroscope server in tests. It replays the recorded
// answers of a real one.
package queriertest

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
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
	Exchanges     []Exchange
}

// Exchange is a question and its answer.
type Exchange struct {
	// Question is the method with the request, without its time.
	Question    string
	Status      int
	ContentType string
	// Start and End are the question's time range, in milliseconds.
	Start, End string
	// Answer is set for short answers in JSON, Gzipped for others.
	Answer  json.RawMessage `json:",omitempty"`
	Gzipped []byte          `json:",omitempty"`
}

// Load returns the recording of a server with storage v2.
func Load() (*Recording, error) {
	r := &Recording{}
	return r, json.Unmarshal(recorded, r)
}

// ServeHTTP answers as the server did. The status is 500 for unrecorded questions.
func (r *Recording) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	asked, _, err := questionOf(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i := slices.IndexFunc(r.Exchanges, asked.is)
	if i < 0 {
		// A question about now was recorded at another time.
		i = slices.IndexFunc(r.Exchanges, func(e Exchange) bool { return e.Question == asked.Question })
	}
	if i < 0 {
		http.Error(w, "not recorded: "+asked.Question, http.StatusInternalServerError)
		return
	}
	r.Exchanges[i].write(w)
}

// is reports whether both are the same question.
func (e Exchange) is(other Exchange) bool {
	return e.Question == other.Question && e.Start == other.Start && e.End == other.End
}

func (e Exchange) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", e.ContentType)
	body := []byte(e.Answer)
	if e.Answer == nil {
		// The client unpacks it, as it does a server's.
		w.Header().Set("Content-Encoding", "gzip")
		body = e.Gzipped
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(body)
}

// questionOf returns the question of a request, and its body.
func questionOf(request *http.Request) (e Exchange, body []byte, err error) {
	if body, err = io.ReadAll(request.Body); err != nil {
		return e, nil, err
	}
	fields := map[string]any{}
	if strings.HasSuffix(request.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(body, &fields)
		delete(fields, "step") // follows from the time
	} else {
		fields, err = fieldsOf(body)
	}
	if err != nil {
		return e, nil, err
	}
	e.Start, e.End = fmt.Sprint(fields["start"]), fmt.Sprint(fields["end"])
	delete(fields, "start")
	delete(fields, "end")
	text, err := json.Marshal(fields)
	e.Question = path.Base(request.URL.Path) + " " + string(text)
	return e, body, err
}

// fieldNames are the fields of a SelectMergeStacktracesRequest in protobuf.
var fieldNames = map[uint64]string{
	1: "profileTypeID", 2: "labelSelector", 3: "start", 4: "end", 6: "format", 10: "traceIdSelector", 11: "spanSelector",
}

// fieldsOf reads a SelectMergeStacktracesRequest in protobuf.
func fieldsOf(message []byte) (map[string]any, error) {
	fields := map[string]any{}
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		value, m := binary.Uvarint(message[max(n, 0):])
		name, known := fieldNames[key>>3]
		if n <= 0 || m <= 0 || !known {
			return nil, errors.New("no SelectMergeStacktracesRequest")
		}
		message = message[n+m:]
		if key&7 == 0 {
			fields[name] = value
			continue
		}
		if value > uint64(len(message)) {
			return nil, errors.New("no protobuf message")
		}
		list, _ := fields[name].([]string)
		fields[name] = append(list, string(message[:value]))
		message = message[value:]
	}
	return fields, nil
}
