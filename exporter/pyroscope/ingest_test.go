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
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// ingest is a server with the rules of Pyroscope v2.2.1 for /ingest, by its default
// limits: what it refuses, with which status and about which text, and what it
// counts twice.
type ingest struct {
	tenants bool                                    // requests have to name one
	fault   func(w http.ResponseWriter, n int) bool // after push n, from 1 on, was stored; true if it has answered

	mu       sync.Mutex
	pushes   int // that were stored
	refusals []string
	rows     map[row][]*profile.Profile
}

// row is a profile of one series and one time, which compaction keeps once.
type row struct {
	series string
	time   int64
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
	err := s.push(r)
	s.mu.Lock()
	n := s.pushes
	if err != nil {
		s.refusals = append(s.refusals, err.Error())
	}
	s.mu.Unlock()
	if refused, ok := errors.AsType[*refusal](err); ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused.status)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": "invalid_argument", "message": refused.text})
		return
	}
	if s.fault != nil && s.fault(w, n) {
		return
	}
}

func (s *ingest) push(r *http.Request) error {
	if s.tenants && r.Header.Get("X-Scope-OrgID") == "" {
		return refuse(http.StatusUnauthorized, "no org id")
	}
	data, err := pushed(r)
	if err != nil {
		return refuse(http.StatusRequestTimeout, "failed to read request body: %v", err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "parsing IngestInput-pprof failed: %v", err)
	}
	var raw bytes.Buffer
	if err := p.WriteUncompressed(&raw); err != nil {
		return err
	}
	at := time.Unix(0, p.TimeNanos)
	if p.TimeNanos == 0 {
		from, _ := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
		at = time.Unix(0, from)
	}
	switch n := len(p.Sample); {
	case raw.Len() > limitBurst:
		return refuse(http.StatusTooManyRequests, "push rate limit (4.0 MiB) exceeded while adding %d B", raw.Len())
	case raw.Len() > limitBytes:
		return refuse(http.StatusUnprocessableEntity, "exceeds the size limit (max_profile_size_byte, actual: %d, limit: %d)", raw.Len(), limitBytes)
	case n > limitSamples:
		return refuse(http.StatusTooManyRequests, "exceeds the samples count limit (max_profile_stacktrace_samples, actual: %d, limit: %d)", n, limitSamples)
	case time.Since(at) > time.Hour || time.Until(at) > 10*time.Minute:
		return refuse(http.StatusUnprocessableEntity, "profile is outside of ingestion window (profile timestamp: %v)", at)
	}
	app, tags, err := seriesOf(r.URL.Query().Get("name"))
	if err != nil {
		return err
	}
	tags["__name__"], tags["__delta__"], tags["pyroscope_spy"] = "process_cpu", "false", r.URL.Query().Get("spyName")
	if tags["service_name"] == "" {
		tags["service_name"] = app
	}
	series := map[string][]*profile.Sample{}
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
		series[fmt.Sprint(labels)] = append(series[fmt.Sprint(labels)], sample)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes++
	if s.rows == nil {
		s.rows = map[row][]*profile.Profile{}
	}
	for name, samples := range series {
		k := row{name, at.UnixNano()}
		s.rows[k] = append(s.rows[k], &profile.Profile{Sample: samples})
	}
	return nil
}

// pushed returns the profile of the form.
func pushed(r *http.Request) ([]byte, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FormName() == "profile" {
			return io.ReadAll(part)
		}
	}
}

// seriesOf reads app{key=value,...}, which has no escapes.
func seriesOf(name string) (app string, tags map[string]string, err error) {
	tags = map[string]string{}
	app, rest, _ := strings.Cut(name, "{")
	if app == "" || strings.ContainsFunc(app, func(r rune) bool { return !strings.ContainsRune("_.-/", r) && !isAlphanumeric(r) }) {
		return "", nil, refuse(http.StatusBadRequest, "name: invalid service name %q", app)
	}
	for tag := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
		if key, value, ok := strings.Cut(tag, "="); ok {
			tags[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return app, tags, nil
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

var labelName = regexp.MustCompile(`^[a-zA-Z_.][a-zA-Z0-9_.]*$`)

// validate is what a series has to be like.
func validate(labels map[string]string) error {
	if len(labels) > limitLabels {
		return refuse(http.StatusUnprocessableEntity, "profile series has %d label names; limit %d", len(labels), limitLabels)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		value, plain := labels[name], strings.ReplaceAll(name, ".", "_")
		switch {
		case len(name) > limitName:
			return refuse(http.StatusUnprocessableEntity, "label name too long: '%.20s'", name)
		case len(value) > limitValue:
			return refuse(http.StatusUnprocessableEntity, "label value too long: '%.20s'", value)
		case !labelName.MatchString(name) || !utf8.ValidString(value):
			return refuse(http.StatusUnprocessableEntity, "invalid label '%.20s'", name)
		case plain != name && labels[plain] != "" && labels[plain] != value:
			return refuse(http.StatusUnprocessableEntity, "duplicate label name '%s' after label name sanitization", plain)
		}
	}
	return nil
}

// compact keeps each profile once, as the server does some time after the push.
func (s *ingest) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, copies := range s.rows {
		s.rows[k] = copies[:1]
	}
}

// taken returns what a query reads: the sums of the values by stack and labels.
func (s *ingest) taken() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[string]int64{}
	for _, copies := range s.rows {
		for _, p := range copies {
			addSums(sums, p)
		}
	}
	return sums
}

// seen returns how many pushes were stored, and why others were refused.
func (s *ingest) seen() (pushes int, refusals []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushes, slices.Clone(s.refusals)
}

// addSums adds the second value of each sample, by stack and labels.
func addSums(sums map[string]int64, p *profile.Profile) {
	for _, s := range p.Sample {
		var key strings.Builder
		for _, l := range s.Location {
			fmt.Fprint(&key, l.Line[0].Function.Name, " ", l.Line[0].Line, " ")
		}
		sums[key.String()+fmt.Sprint(s.Label)] += s.Value[1]
	}
}
