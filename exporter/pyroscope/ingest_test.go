// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// ingest is a server with the rules of Pyroscope v2.2.1 for /ingest, by its default
// limits: what it refuses, and with which status.
type ingest struct {
	mu       sync.Mutex
	requests []push
	refusals []string
	series   map[string]bool // that have samples
	samples  int
}

// push is a request, taken apart.
type push struct {
	*http.Request
	query   map[string]string
	profile []byte
	types   map[string]map[string]any // sample_type_config
}

const (
	limitLabels  = 30        // -validation.max-label-names-per-series
	limitValue   = 2048      // -validation.max-length-label-value
	limitName    = 1024      // -validation.max-length-label-name
	limitSamples = 16_000    // -validation.max-profile-stacktrace-samples
	limitBytes   = 4 << 20   // -validation.max-profile-size-bytes
	limitBurst   = 2_000_000 // -distributor.ingestion-burst-size-mb
)

// refusal is an answer that is no success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

func (s *ingest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, err := parse(r)
	s.mu.Lock()
	s.requests = append(s.requests, p)
	s.mu.Unlock()
	if err == nil {
		err = s.store(p)
	}
	if err == nil {
		return
	}
	s.mu.Lock()
	s.refusals = append(s.refusals, err.Error())
	s.mu.Unlock()
	status := http.StatusUnprocessableEntity
	if refused, ok := errors.AsType[*refusal](err); ok {
		status = refused.status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "unknown", "message": err.Error()})
}

// parse reads the form of a request.
func parse(r *http.Request) (push, error) {
	p := push{Request: r, query: map[string]string{}}
	for key, values := range r.URL.Query() {
		p.query[key] = values[0]
	}
	if r.Method != http.MethodPost || r.URL.Path != "/ingest" || p.query["format"] != "" {
		return p, refuse(http.StatusNotFound, "%s %s", r.Method, r.URL)
	}
	form, err := r.MultipartReader()
	if err != nil {
		return p, err
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return p, err
		}
		if part.FormName() == "profile" {
			p.profile = data
		} else if err := json.Unmarshal(data, &p.types); err != nil {
			return p, err
		}
	}
}

func (s *ingest) store(r push) error {
	data := r.profile
	app, tags, err := seriesOf(r.query["name"])
	if err != nil || len(data) == 0 {
		return err // an empty one is taken, and nothing of it stored
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "parsing IngestInput-pprof failed invalid_argument: %v", err)
	}
	var raw bytes.Buffer
	if err := p.WriteUncompressed(&raw); err != nil {
		return err
	}
	tags["__name__"], tags["__delta__"], tags["pyroscope_spy"] = "process_cpu", "false", r.query["spyName"]
	if tags["service_name"] == "" {
		tags["service_name"] = app
	}
	switch n := len(p.Sample); {
	case raw.Len() > limitBytes:
		return refuse(http.StatusUnprocessableEntity, "parsing IngestInput-pprof failed invalid_argument: decompressed size exceeds maximum allowed size of %d bytes", limitBytes)
	case raw.Len() > limitBurst:
		return refuse(http.StatusTooManyRequests, "push rate limit (4.0 MiB) exceeded while adding %.1f MiB", float64(raw.Len())/(1<<20))
	case n > limitSamples:
		return refuse(http.StatusUnprocessableEntity, "%d samples, limit %d", n, limitSamples)
	}
	series := map[string]bool{}
	for _, sample := range p.Sample {
		labels := maps.Clone(tags)
		for name, values := range sample.Label {
			if name != "span_id" && name != "profile_id" && name != "trace_id" && labels[name] == "" {
				labels[name] = values[0]
			}
		}
		if err := validate(labels); err != nil {
			return err
		}
		series[fmt.Sprint(labels)] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.series == nil {
		s.series = map[string]bool{}
	}
	maps.Copy(s.series, series)
	s.samples += len(p.Sample)
	return nil
}

// seriesOf reads app{key=value,...}, which has no escapes.
func seriesOf(name string) (app string, tags map[string]string, err error) {
	tags = map[string]string{}
	app, rest, _ := strings.Cut(name, "{")
	if app == "" {
		return "", nil, refuse(http.StatusBadRequest, "name: service name is required")
	}
	for tag := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
		key, value, ok := strings.Cut(tag, "=")
		if !ok {
			continue
		}
		tags[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return app, tags, nil
}

// hidden reports whether a query that does not ask for names of all of UTF-8 does not
// show a label. The server stores it.
func hidden(name string) bool { return !classicName.MatchString(name) }

var classicName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// validate is what a series has to be like.
func validate(labels map[string]string) error {
	if len(labels) > limitLabels {
		return refuse(http.StatusUnprocessableEntity, "%d label names, limit %d", len(labels), limitLabels)
	}
	for name, value := range labels {
		switch {
		case len(name) > limitName:
			return refuse(http.StatusUnprocessableEntity, "label name too long: %s", name)
		case len(value) > limitValue:
			return refuse(http.StatusUnprocessableEntity, "label value too long: %s", value)
		case !utf8.ValidString(name + value):
			return refuse(http.StatusUnprocessableEntity, "invalid utf8 string hex: %x", name+value)
		}
	}
	return nil
}

// seen returns the requests, and the texts of refusals.
func (s *ingest) seen() (requests []push, refusals []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests), slices.Clone(s.refusals)
}
