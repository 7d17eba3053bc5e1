// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"encoding/json"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// push is a request to /ingest, taken apart.
type push struct {
	query   map[string]string
	header  http.Header
	profile []byte
	types   map[string]map[string]any // sample_type_config
	user    string
}

// backend takes pushes as Pyroscope does, while it is well.
type backend struct {
	t *testing.T
	// fault answers in place of the backend; nil while it is well.
	fault func(b *backend, w http.ResponseWriter, r *http.Request)

	mu       sync.Mutex
	attempts []time.Time
	pushes   []push
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.attempts = append(b.attempts, time.Now())
	fault := b.fault
	b.mu.Unlock()
	if fault != nil {
		fault(b, w, r)
		return
	}
	b.take(w, r)
}

// heal ends the fault and returns when there were attempts during it.
func (b *backend) heal() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = nil
	return slices.Clone(b.attempts)
}

func (b *backend) take(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/ingest" || r.URL.Query().Has("format") {
		b.t.Errorf("request %s %s", r.Method, r.URL)
	}
	p := push{query: map[string]string{}, header: r.Header}
	for key, values := range r.URL.Query() {
		p.query[key] = values[0]
	}
	p.user, _, _ = r.BasicAuth()
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		b.t.Error(err)
	}
	for form := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := form.NextPart()
		if err != nil {
			if err != io.EOF { //nolint:errorlint // as documented
				http.Error(w, err.Error(), http.StatusRequestTimeout)
				return
			}
			break
		}
		data, err := io.ReadAll(part)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestTimeout)
			return
		}
		switch part.FormName() {
		case "profile":
			p.profile = data
		case "sample_type_config":
			if err := json.Unmarshal(data, &p.types); err != nil {
				b.t.Error(err)
			}
		default:
			b.t.Errorf("unknown part %q", part.FormName())
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pushes = append(b.pushes, p)
}

func (b *backend) all() []push {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pushes)
}

// arrived returns how often each window has arrived, by its end.
func (b *backend) arrived() map[string]int {
	times := map[string]int{}
	for _, p := range b.all() {
		times[p.query["until"]]++
	}
	return times
}

// wantArrived checks that the windows that end at these times are there, and
// nothing else.
func (b *backend) wantArrived(want []time.Time) {
	b.t.Helper()
	var ends []string
	for _, end := range want {
		ends = append(ends, strconv.FormatInt(end.UnixNano(), 10))
	}
	if diff := cmp.Diff(ends, slices.Sorted(maps.Keys(b.arrived()))); diff != "" {
		b.t.Errorf("windows that arrived (-want +got):\n%s", diff)
	}
}
