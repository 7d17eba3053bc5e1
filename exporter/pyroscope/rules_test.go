// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// export sends profiles to s on a real socket, and returns the Exporter's account.
func (s *ingest) export(t *testing.T, opts []pyroscope.Option, profiles ...*exporter.Profile) exporter.Status {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	e, err := pyroscope.New(server.URL+"/", opts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		if err := e.Export(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Shutdown(t.Context()); (err != nil) != (len(e.Status().Lost) > 0) {
		t.Fatal(err)
	}
	return e.Status()
}

// deliver returns the requests that a server gets for profiles.
func deliver(t *testing.T, opts []pyroscope.Option, profiles ...*exporter.Profile) []push {
	t.Helper()
	s := new(ingest)
	s.export(t, opts, profiles...)
	requests, _ := s.seen()
	return requests
}

// parsed returns a CPU profile with n samples.
func parsed(n int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10_000_000,
		Mapping:    []*profile.Mapping{{ID: 1, File: "program", HasFunctions: true}},
		Function:   []*profile.Function{{ID: 1, Name: "main.main"}},
	}
	p.Location = []*profile.Location{{ID: 1, Mapping: p.Mapping[0], Line: []profile.Line{{Function: p.Function[0]}}}}
	for range n {
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: []int64{1, 10_000_000}})
	}
	return p
}

func now(attributes ...attribute.KeyValue) exporter.Window {
	return exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-10 * time.Second), Duration: 10 * time.Second, Resource: resource.NewSchemaless(attributes...)}
}

// numbered returns n attributes, or tags, with these names.
func numbered(prefix string, n int) (attributes []attribute.KeyValue, tags map[string]string) {
	tags = map[string]string{}
	for i := range n {
		name := fmt.Sprintf("%s%02d", prefix, i)
		attributes = append(attributes, attribute.String(name, "x"))
		tags[name] = "x"
	}
	return attributes, tags
}

// names finds the names in the text of a series.
var names = regexp.MustCompile(`[[ ]([^ :\[]+):`)

// A series has 30 labels at most, with labels of samples: no window is lost for
// one that has more of them.
func TestLabelLimits(t *testing.T) {
	attributes, _ := numbered("a", 30)
	_, static := numbered("t", 24)
	_, some := numbered("t", 12)
	labels := func(n int) map[string][]string {
		m := map[string][]string{"span_id": {"0123456789abcdef"}, "trace_id": {"0123456789abcdef0123456789abcdef"}, "span_name": {"GET /"}}
		for i := range n - 1 {
			m[fmt.Sprintf("own%02d", i)] = []string{"x"}
		}
		return m
	}
	for _, tt := range []struct {
		name    string
		tags    map[string]string
		labels  map[string][]string
		want    []string // that are there
		without []string
		reports int
	}{
		{"tags of the resource go first", nil, labels(8), []string{"a15:x", "own06:x", "span_name:GET /"}, []string{"a16:x"}, 1},
		{"then labels of samples", some, labels(20), []string{"t11:x", "own10:x", "span_name:GET /"}, []string{"a00:x", "own11:x"}, 2},
		{"WithTags stays", static, labels(2), []string{"t23:x"}, []string{"own00:x", "span_name:"}, 2},
		{"long value", nil, map[string][]string{"url": {strings.Repeat("ä", 1100)}}, []string{"url:" + strings.Repeat("ä", 1024)}, []string{strings.Repeat("ä", 1025)}, 2},
		{"name", nil, map[string][]string{"http-method": {"GET"}, "http.route": {"/"}}, []string{"http_method:GET", "http_route:/"}, nil, 2},
		{"collision", nil, map[string][]string{"http.route": {"/"}, "http_route": {"/cart"}}, []string{"http_route:/"}, []string{"/cart"}, 2},
		{"not UTF-8", nil, map[string][]string{"user": {"J\xf6rg"}}, []string{"user:J_rg"}, nil, 2},
		{"ended spans", nil, map[string][]string{"ended_span_id": {"0123456789abcdef"}, "tenant": {"a"}}, []string{"tenant:a"}, []string{"ended_span_id"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reported := reporttest.Collect(t)
			windows := make([]*exporter.Profile, 2)
			for i := range windows {
				p := parsed(3)
				for _, s := range p.Sample {
					s.Label = tt.labels
				}
				windows[i] = exporter.NewParsedProfile(now(attributes...), p)
			}
			s := new(ingest)
			stats := s.export(t, []pyroscope.Option{pyroscope.WithTags(tt.tags)}, windows...)
			if _, refusals := s.seen(); stats.Exported != 2 || len(refusals) != 0 {
				t.Fatalf("Stats %+v, refused %q", stats, refusals)
			}
			for text := range s.series {
				for _, want := range tt.want {
					if !strings.Contains(text, want) {
						t.Errorf("series %.300s is without %s", text, want)
					}
				}
				for _, without := range tt.without {
					if strings.Contains(text, without) {
						t.Errorf("series %.300s has %s", text, without)
					}
				}
				if strings.Contains(text, "span_id") {
					t.Errorf("series %s has an id", text)
				}
				for _, name := range names.FindAllStringSubmatch(text, -1) {
					if hidden(name[1]) {
						t.Errorf("label %q is not shown", name[1])
					}
				}
			}
			if got := reported(); len(got) != tt.reports {
				t.Errorf("reported %q, want %d reports for two profiles", got, tt.reports)
			}
			p, err := windows[0].Parsed()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.labels, p.Sample[0].Label); diff != "" {
				t.Errorf("the profile was changed:\n%s", diff)
			}
		})
	}
}

// Tags that made room for labels once stay away: a series does not change with the
// labels that a window happens to have.
func TestTagsDoNotComeBack(t *testing.T) {
	attributes, _ := numbered("a", 24)
	labelled := parsed(1)
	labelled.Sample[0].Label = map[string][]string{"span_name": {"GET /"}, "user": {"x"}}
	w := now(attributes...)
	pushes := deliver(t, nil, exporter.NewParsedProfile(w, labelled), exporter.NewParsedProfile(w, parsed(1)))
	if len(pushes) != 2 || pushes[0].query["name"] != pushes[1].query["name"] || strings.Count(pushes[0].query["name"], "=") != 22 {
		t.Errorf("pushes %v, want two with the same 22 tags", pushes)
	}
}

// A profile beyond the limits arrives whole.
func TestLargeProfileArrives(t *testing.T) {
	for _, tt := range []struct {
		name            string
		samples, length int // of two labels of each sample
	}{{"samples", 17_500, 0}, {"bytes", 1_000, 1_500}} {
		t.Run(tt.name, func(t *testing.T) {
			reported := reporttest.Collect(t)
			p := parsed(tt.samples)
			for i, s := range p.Sample {
				text := strings.Repeat("x", tt.length) + fmt.Sprint("GET /", i)
				s.Label = map[string][]string{"span_id": {fmt.Sprintf("%016x", i)}, "span_name": {text}, "url": {text + "b"}}
			}
			s := new(ingest)
			whole := exporter.NewParsedProfile(now(), p)
			stats := s.export(t, []pyroscope.Option{pyroscope.WithQueue(exporter.QueueConfig{Timeout: time.Minute})}, whole)
			pushes, refusals := s.seen()
			if len(refusals) != 0 || stats.Exported != uint64(len(pushes)) || len(pushes) < 2 || len(pushes) > 4 {
				t.Errorf("%+v, %d pushes, refused %q", stats, len(pushes), refusals)
			}
			if s.samples != tt.samples {
				t.Errorf("%d samples arrived, want %d", s.samples, tt.samples)
			}
			if got := reported(); len(got) != 0 {
				t.Errorf("reported %q", got)
			}
		})
	}
}

// A page is not a success. A password that the server repeats is not reported.
func TestLoginPage(t *testing.T) {
	reported := reporttest.Collect(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<title>Log in</title> secret99" + r.Header.Get("Authorization")))
	}))
	defer server.Close()
	e, err := pyroscope.New(server.URL, pyroscope.WithBasicAuth("12345", "secret99"))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Export(t.Context(), exporter.NewParsedProfile(now(), parsed(1))); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "1 rejected") {
		t.Errorf("Shutdown: %v", err)
	}
	want := "answers with success, but not as Pyroscope does: is the endpoint right? The answer is text/html: <title>Log in</title> [redacted]"
	if got := strings.Join(reported(), "\n"); !strings.Contains(got, want) || strings.Contains(got, "secret99") || strings.Contains(got, "MTIzNDU6c2VjcmV0OTk=") {
		t.Errorf("reported %s, want %s", got, want)
	}
}
