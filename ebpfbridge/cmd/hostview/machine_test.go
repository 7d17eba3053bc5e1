// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// newMachine returns the page of a store with samples of 10 ms: each has an executable, a
// process, a container, a thread and their number.
func newMachine(t *testing.T, kind exporter.Kind, samples ...[]string) *machine {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	kernel := &profile.Mapping{ID: 1, File: exporter.KernelMapping}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7, Mapping: []*profile.Mapping{kernel},
	}
	if kind == exporter.KindOffCPU {
		p.SampleType[1].Type = "off_cpu"
	}
	for i, of := range samples {
		f := &profile.Function{ID: uint64(i + 1), Name: "work of " + of[0]}
		l := &profile.Location{ID: uint64(i + 1), Mapping: kernel, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		labels := map[string][]string{}
		for n, label := range []string{receiver.LabelExecutable, receiver.LabelProcess, receiver.LabelContainer, receiver.LabelThread} {
			if of[n] != "" {
				labels[label] = []string{of[n]}
			}
		}
		n := int64(len(of[4]))
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Label: labels, Value: []int64{n, n * 1e7}})
	}
	w := exporter.Window{Kind: storedKind(kind), Start: time.Now().Add(-10 * time.Second), Duration: 10 * time.Second}
	if err := s.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
		t.Fatal(err)
	}
	return &machine{source{s}, func() viewer.Status { return viewer.Status{Message: "<agent>"} }, http.NotFoundHandler()}
}

// ask returns the answer to a request for a page, and its status.
func ask(t *testing.T, m *machine, page string) (string, int) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/"+page, http.NoBody))
	return w.Body.String(), w.Code
}

var usual = [][]string{
	{"nginx", "1", "c1", "nginx", "111"}, {"nginx", "2", "c1", "pool", "11"}, {"shop", "3", "c2", "shop", "1"}, {"", "4", "", "kworker", "1"},
}

func TestMachine(t *testing.T) {
	m := newMachine(t, exporter.KindHost, usual...)
	for page, want := range map[string]string{
		"?format=text":                                 "71.4 %  nginx ~14.3 %  (kernel) ~14.3 %  shop ",
		"?format=text&by=process":                      "42.9 %  1 nginx~28.6 %  2 nginx~14.3 %  3 shop~14.3 %  4 (kernel)",
		"?format=text&by=process&executable=nginx":     "60.0 %  1 nginx~40.0 %  2 nginx",
		"?format=text&by=thread&process=2":             "100.0 %  pool nginx",
		"?format=text&by=container":                    "71.4 %  c1 nginx~14.3 %  (no container) ~14.3 %  c2 shop",
		"?format=text&by=executable&executable=":       "100.0 %  (kernel)",
		"?format=text&by=executable&container=c2":      "100.0 %  shop",
		"?format=text&by=executable&executable=absent": "0.00 s, 0.00 cores, 0 samples",
	} {
		text, code := ask(t, m, page)
		for line := range strings.SplitSeq(want, "~") {
			if !strings.Contains(text, line) || code != http.StatusOK {
				t.Errorf("%s: %d\n%s\nwant %q", page, code, text, line)
			}
		}
	}
	if text, _ := ask(t, m, "?format=text"); !strings.Contains(text, "0.07 s, 0.01 cores, 7 samples") || !strings.Contains(text, "   0.05 s     0.01   71.4 %") {
		t.Errorf("sums:\n%s", text)
	}
	html, _ := ask(t, m, "?by=process")
	for _, want := range []string{
		"&lt;agent&gt;", `href="./?by=thread&amp;minutes=5&amp;process=1"`, `href="spans/?query=.host%7Bprocess_pid%3D%221%22%7D&amp;from=now-5m"`,
		`<a href="./?by=process&amp;minutes=5" aria-current="page">Process</a>`, `data-address="flame.json?by=process&amp;minutes=5"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in\n%s", want, html)
		}
	}
	if strings.Contains(html, "Waiting") {
		t.Error("a way to profiles of waiting, of which there are none")
	}
	waiting := newMachine(t, exporter.KindOffCPU, usual...)
	if html, _ := ask(t, waiting, "?waiting"); !strings.Contains(html, ">Waiting</a>") || !strings.Contains(html, ".off_cpu%7B") || !strings.Contains(html, "nginx") {
		t.Errorf("profiles of waiting are not shown:\n%s", html)
	}
}

func TestMachineFlame(t *testing.T) {
	body, _ := ask(t, newMachine(t, exporter.KindHost, usual...), "flame.json?executable=nginx")
	var got struct {
		Flame      flame.Graph
		Unit       string
		Total      int64
		FrameTypes []flame.TypeTotal
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	g := &got.Flame
	if got.Unit != "nanoseconds" || got.Total != 5e7 || g.Len() != 2 || g.Name(1) != "work of nginx" || g.Type(1) != flame.Kernel || len(g.Functions.Name) != 1 || len(got.FrameTypes) != 1 {
		t.Errorf("got %s", body)
	}
}

// The viewer has what the script imports from it: without it the page has no flame graph.
func TestMachineImports(t *testing.T) {
	m := newMachine(t, exporter.KindHost, usual...)
	m.viewer = http.StripPrefix("/spans", viewer.Handler(m.source))
	script, _ := ask(t, m, "machine.js")
	imports := regexp.MustCompile(`import \{ (\w+) \} from './(spans/\w+\.js)'`).FindAllStringSubmatch(script, -1)
	for _, i := range imports {
		text, code := ask(t, m, i[2])
		if !regexp.MustCompile(`export (async )?(const|function|class) ` + i[1] + `\b`).MatchString(text) {
			t.Errorf("%s does not export %s: status %d", i[2], i[1], code)
		}
	}
	if strings.Count(script, "\nimport ") != len(imports) {
		t.Errorf("%d imports are read of\n%s", len(imports), script)
	}
}

func TestMachineRefuses(t *testing.T) {
	m := newMachine(t, exporter.KindHost, usual...)
	for page, want := range map[string]int{
		"?by=user": http.StatusBadRequest, "?minutes=0": http.StatusBadRequest, "?minutes=x": http.StatusBadRequest, "other": http.StatusNotFound, "machine.js": http.StatusOK,
	} {
		if text, code := ask(t, m, page); code != want {
			t.Errorf("%s: %d %s, want %d", page, code, text, want)
		}
	}
	for host, want := range map[string]int{"localhost:1": 200, "127.1.2.3:80": 200, "[::1]:80": 200, "[::1]": 200, "example.com": 403, "10.0.0.1:80": 403, "": 403} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		if m.ServeHTTP(w, r); w.Code != want {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", http.NoBody)
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
