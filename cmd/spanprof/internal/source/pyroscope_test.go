// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/queriertest"
)

// fakeQuerier answers as a Pyroscope server does, with one function per profile
// type and replica.
type fakeQuerier struct {
	t      *testing.T
	labels []map[string]string // of the series

	mu       sync.Mutex
	requests []string // type and selector of each SelectMergeProfile
	header   http.Header
}

func (q *fakeQuerier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		q.t.Error(err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.header = r.Header
	w.Header().Set("Content-Type", r.Header.Get("Content-Type")) // as the Connect protocol has it
	switch r.URL.Path {
	case "/prefix/querier.v1.QuerierService/Series":
		var request struct {
			Matchers, LabelNames []string
			Start, End           int64 `json:",string"`
		}
		if err := json.Unmarshal(body, &request); err != nil || request.Start == 0 || request.End <= request.Start {
			q.t.Errorf("Series called with %s: %v", body, err)
		}
		if request.Matchers[0] == `{service_name="refused"}` {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"invalid_argument","message":"the query time range exceeds the limit"}`)
			return
		}
		type pair struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		}
		type set struct {
			Labels []pair `json:"labels"`
		}
		answer := map[string][]set{}
		for _, labels := range q.labels {
			var s set
			for _, name := range request.LabelNames {
				if labels[name] != "" {
					s.Labels = append(s.Labels, pair{name, labels[name]})
				}
			}
			answer["labelsSet"] = append(answer["labelsSet"], s)
		}
		_ = json.NewEncoder(w).Encode(answer)
	case "/prefix/querier.v1.QuerierService/SelectMergeProfile":
		if got := r.Header.Get("Content-Type"); got != "application/proto" {
			q.t.Errorf("Content-Type %q", got)
		}
		fields := queriertest.Fields(body)
		if from, until := fields["start"].(uint64), fields["end"].(uint64); until-from != uint64((30 * time.Minute).Milliseconds()) {
			q.t.Errorf("from %d until %d, want 30 minutes", from, until)
		}
		profileType, selector := fields["profileTypeID"].([]string)[0], fields["labelSelector"].([]string)[0]
		q.requests = append(q.requests, profileType+" "+selector)
		part := strings.Split(profileType, ":")
		function := &profile.Function{ID: 1, Name: "main.work"}
		location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function, Line: 7}}}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: part[1], Unit: part[2]}},
			Function:   []*profile.Function{function}, Location: []*profile.Location{location},
			Sample: []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{int64(len(part[1]))}}},
		}
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			q.t.Error(err)
		}
		if strings.Contains(selector, `"empty"`) {
			b.Reset()
		}
		_, _ = w.Write(b.Bytes())
	default:
		http.NotFound(w, r)
	}
}

const (
	typeCPU     = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	typeSamples = "process_cpu:samples:count:cpu:nanoseconds"
	typeBlock   = "block:delay:nanoseconds:contentions:count"
)

func TestPyroscope(t *testing.T) {
	q := &fakeQuerier{t: t}
	for _, pod := range []string{"a", "b"} {
		for _, profileType := range []string{typeSamples, typeBlock, typeCPU} {
			q.labels = append(q.labels, map[string]string{"__profile_type__": profileType, "service_name": "shop", "pod": pod})
		}
	}
	server := serve(t, q)
	address := "pyroscope+" + server.URL + `/prefix?query={service_name="shop",}&from=now-1h&until=now-30m`
	t.Setenv("SPANPROF_TENANT", "team")

	profiles, err := read(t, address)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range profiles {
		parsed, err := p.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, st := range parsed.SampleType {
			types = append(types, st.Type+"/"+st.Unit)
		}
		got = append(got, fmt.Sprint(p.Replica, " ", p.Kind(), " ", types, " ", parsed.Sample[0].Value))
		if p.Duration() != 30*time.Minute || time.Since(p.Start()) < time.Hour || len(parsed.Sample) != 1 {
			t.Errorf("%s from %v on for %v, %d samples", p.Name, p.Start(), p.Duration(), len(parsed.Sample))
		}
		if name, _ := p.Resource().Set().Value("service.name"); name.AsString() != "shop" {
			t.Errorf("service %q", name.AsString())
		}
	}
	want := []string{"a cpu [samples/count cpu/nanoseconds] [7 3]", "b cpu [samples/count cpu/nanoseconds] [7 3]"}
	if !slices.Equal(got, want) {
		t.Errorf("profiles\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if q.header.Get("X-Scope-OrgID") != "team" || q.header.Get("Connect-Protocol-Version") != "1" {
		t.Errorf("header %v", q.header)
	}

	selector := ` {service_name="shop",service_name="shop",pod=`
	if want := []string{typeSamples + selector + `"a"}`, typeCPU + selector + `"a"}`, typeSamples + selector + `"b"}`, typeCPU + selector + `"b"}`}; !slices.Equal(q.requests, want) {
		t.Errorf("requests %q, want %q", q.requests, want)
	}

	refused := "pyroscope+" + server.URL + `/prefix?query={service_name="refused"}`
	if _, err := read(t, refused); err == nil || !strings.HasPrefix(err.Error(), "pyroscope+"+server.URL) || !strings.Contains(err.Error(), "Series: the server answers 400 Bad Request: the query time range exceeds the limit") {
		t.Error(err)
	}
	q.labels = []map[string]string{{"__profile_type__": typeCPU, "service_name": "empty"}}
	if profiles, err := read(t, address); err != nil || len(profiles) != 0 {
		t.Errorf("series without samples: %d profiles, %v", len(profiles), err)
	}
	q.labels = nil
	if _, err := read(t, address); err == nil || !strings.Contains(err.Error(), "has no CPU profiles of") {
		t.Errorf("no series: %v", err)
	}
	if _, err := read(t, "pyroscope+"+server.URL+"?query={}"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("another server: %v", err)
	}
}

// An end of ctx ends the reading.
func TestReadAllEnds(t *testing.T) {
	q := &fakeQuerier{t: t}
	for i := range 20 {
		q.labels = append(q.labels, map[string]string{"__profile_type__": typeCPU, "service_name": "shop", "pod": fmt.Sprint(i)})
	}
	address := "pyroscope+" + serve(t, q).URL + "/prefix?query={}&from=now-1h&until=now-30m"
	ctx, cancel := context.WithCancel(t.Context())
	used := 0
	err := source.ReadAll(ctx, []string{address, address}, "", func(err error) { t.Error(err) }, func(string, *source.Profile) error {
		used++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || used != 1 || len(q.requests) != 1 {
		t.Errorf("%d profiles of %d requests, %v", used, len(q.requests), err)
	}
}

// A server does not decide how many requests are made.
func TestTooManyProfiles(t *testing.T) {
	q := &fakeQuerier{t: t}
	for i := range 1001 {
		q.labels = append(q.labels, map[string]string{"__profile_type__": typeCPU, "service_name": fmt.Sprint(i)})
	}
	if _, err := read(t, "pyroscope+"+serve(t, q).URL+"/prefix?query={}"); err == nil || !strings.Contains(err.Error(), "more than 1000 profiles") {
		t.Error(err)
	}
}
