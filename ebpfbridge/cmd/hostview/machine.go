// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

//go:embed machine.html machine.js
var files embed.FS

var machinePage = template.Must(template.ParseFS(files, "machine.html"))

// machine is the first page: what uses this machine, and its flame graph. All other pages are
// the viewer's, below spans/.
type machine struct {
	source store.Source
	status func() viewer.Status
	viewer http.Handler
}

// grouping is a way to sum up samples: by Title, by a label. next is the grouping within a row.
type grouping struct{ Key, Title, label, none, next string }

var groupings = []grouping{
	{"executable", "Executable", receiver.LabelExecutable, "(kernel)", "process"},
	{"process", "Process", receiver.LabelProcess, "", "thread"},
	{"container", "Container", receiver.LabelContainer, "(no container)", "executable"},
	{"thread", "Thread", receiver.LabelThread, "(no name)", ""},
}

const maxRows = 100

// ServeHTTP implements http.Handler.
func (m *machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && r.URL.Path != "/flame.json" && r.URL.Path != "/machine.js" {
		m.viewer.ServeHTTP(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	switch {
	case !isLoopback(r.Host):
		http.Error(w, "hostview: the page is shown on loopback names only", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "hostview: only GET and HEAD are answered here", http.StatusMethodNotAllowed)
	case r.URL.Path == "/machine.js":
		http.ServeFileFS(w, r, files, "machine.js")
	default:
		a, err := parseAsked(r.URL.Query())
		if err != nil {
			http.Error(w, "hostview: "+err.Error(), http.StatusBadRequest)
		} else if err := m.answer(w, r, a); err != nil {
			http.Error(w, "hostview: "+err.Error(), http.StatusInternalServerError)
		}
	}
}

// isLoopback reports whether a Host header is a name of this machine. Other names may be an
// attacker's, with this address.
func isLoopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// asked is a parsed request.
type asked struct {
	By      grouping
	Minutes int
	Kind    exporter.Kind
	Chosen  []chosen // the conditions
}

type chosen struct {
	grouping
	Value string
}

func parseAsked(params url.Values) (asked, error) {
	a := asked{Minutes: 5, Kind: exporter.KindHost, By: groupings[0]}
	if v := params.Get("by"); v != "" {
		i := slices.IndexFunc(groupings, func(g grouping) bool { return g.Key == v })
		if i < 0 {
			return a, fmt.Errorf("unknown grouping %.100q: known are executable, process, container and thread", v)
		}
		a.By = groupings[i]
	}
	if v := params.Get("minutes"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 24*60 {
			return a, fmt.Errorf("minutes=%.100q: give 1 to 1440", v)
		}
		a.Minutes = n
	}
	if params.Has("waiting") {
		a.Kind = exporter.KindOffCPU
	}
	for _, g := range groupings {
		if params.Has(g.Key) {
			a.Chosen = append(a.Chosen, chosen{g, params.Get(g.Key)})
		}
	}
	return a, nil
}

// address returns the address of this page with other values, as key, value; a value of "-"
// removes its key.
func (a asked) address(page string, pairs ...string) string {
	params := url.Values{"by": {a.By.Key}, "minutes": {strconv.Itoa(a.Minutes)}}
	if a.Kind == exporter.KindOffCPU {
		params.Set("waiting", "")
	}
	for _, c := range a.Chosen {
		params.Set(c.Key, c.Value)
	}
	for i := 0; i < len(pairs); i += 2 {
		if params.Set(pairs[i], pairs[i+1]); pairs[i+1] == "-" {
			params.Del(pairs[i])
		}
	}
	return page + "?" + params.Encode()
}

// query returns the query for all that was asked, and its text for the viewer.
func (a asked) query() (q store.Query, text string) {
	q = store.Query{Kind: a.Kind, From: time.Now().Add(-time.Duration(a.Minutes) * time.Minute)}
	var conditions []string
	for _, c := range a.Chosen {
		m, _ := store.NewMatcher(c.label, store.MatchEqual, c.Value) // only expressions may be wrong
		q.Matchers = append(q.Matchers, m)
		conditions = append(conditions, fmt.Sprintf("%s=%q", c.label, c.Value))
	}
	return q, fmt.Sprintf(".%s{%s}", a.Kind, strings.Join(conditions, ","))
}

// row is a line of the table.
type row struct {
	Name, About string
	// Link narrows the page to the row, and Graph is the viewer's page of it.
	Link, Graph       string
	CPU, Cores, Share string
	Bar               float64 // of 100
	value             int64
}

// table is the page's data.
type table struct {
	asked
	Status            viewer.Status
	Rows              []row
	More              int
	Total, Cores, All string
	Groupings         []choice
	Times             []choice
	Kinds             []choice
	Conditions        []choice
	Flame, Viewer     string
}

type choice struct {
	Text, Link string
	Current    bool
}

func (m *machine) answer(w http.ResponseWriter, r *http.Request, a asked) error {
	q, text := a.query()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	view, err := m.source.View(ctx, q.From, time.Time{})
	if err != nil {
		return err
	}
	defer view.Close()
	if r.URL.Path == "/flame.json" {
		return writeFlame(ctx, w, r, view, q)
	}
	t := table{asked: a, Status: m.status()}
	if err := t.fill(view, q, text); err != nil {
		return err
	}
	if r.URL.Query().Get("format") == "text" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		t.write(w)
		return nil
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return machinePage.Execute(w, &t)
}

// fill sums up the samples, and makes the links.
func (t *table) fill(view store.View, q store.Query, text string) error {
	q.Labels = []string{t.By.label, receiver.LabelExecutable}
	answer, err := view.Samples(q)
	if err != nil {
		return err
	}
	until := fmt.Sprintf("&from=now-%dm", t.Minutes)
	byName := map[string]*row{}
	length := max(time.Second, answer.Until.Sub(answer.From))
	for _, sum := range answer.Sums {
		name := sum.Labels[0]
		to := byName[name]
		if to == nil {
			to = &row{Name: cmp.Or(name, t.By.none), About: cmp.Or(sum.Labels[1], groupings[0].none), Link: t.address("./", t.By.Key, name, "by", cmp.Or(t.By.next, t.By.Key))}
			narrow := t.asked
			narrow.Chosen = append(slices.Clip(t.Chosen), chosen{t.By, name})
			_, of := narrow.query()
			to.Graph = "spans/?query=" + url.QueryEscape(of) + until
			byName[name] = to
		}
		if about := cmp.Or(sum.Labels[1], groupings[0].none); to.About != about {
			to.About = "several executables"
		}
		to.value += sum.Value
	}
	for _, one := range byName {
		if t.By.Key == "executable" {
			one.About = ""
		}
		one.Bar = 100 * float64(one.value) / float64(max(1, answer.Total))
		one.CPU, one.Cores, one.Share = seconds(one.value), cores(one.value, length), fmt.Sprintf("%.1f %%", one.Bar)
		t.Rows = append(t.Rows, *one)
	}
	slices.SortFunc(t.Rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.Name, b.Name)) })
	if t.More = len(t.Rows) - maxRows; t.More > 0 {
		t.Rows = t.Rows[:maxRows]
	}
	t.Total, t.Cores, t.All = seconds(answer.Total), cores(answer.Total, length), termtext.Plural(answer.Samples, "sample")
	t.Flame, t.Viewer = t.address("flame.json"), "spans/?query="+url.QueryEscape(text)+until
	for _, g := range groupings {
		t.Groupings = append(t.Groupings, choice{g.Title, t.address("./", "by", g.Key), g == t.By})
	}
	for _, n := range []int{1, 5, 30, 240} {
		t.Times = append(t.Times, choice{fmt.Sprintf("%d min", n), t.address("./", "minutes", strconv.Itoa(n)), n == t.Minutes})
	}
	for _, c := range t.Chosen {
		t.Conditions = append(t.Conditions, choice{c.Title + " " + cmp.Or(c.Value, c.none), t.address("./", c.Key, "-", "by", c.Key), false})
	}
	windows, err := view.Windows()
	if slices.ContainsFunc(windows, func(w store.WindowInfo) bool { return w.Kind == exporter.KindOffCPU }) {
		waiting := t.Kind == exporter.KindOffCPU
		t.Kinds = []choice{{"CPU time", t.address("./", "waiting", "-"), !waiting}, {"Waiting", t.address("./", "waiting", ""), waiting}}
	}
	return err
}

func seconds(ns int64) string { return fmt.Sprintf("%.2f s", time.Duration(ns).Seconds()) }

func cores(ns int64, length time.Duration) string {
	return fmt.Sprintf("%.2f", float64(ns)/float64(length))
}

// write writes the table as text.
func (t *table) write(w http.ResponseWriter) {
	if t.Status.Message != "" {
		fmt.Fprintf(w, "note: %s\n", t.Status.Message)
	}
	fmt.Fprintf(w, "by %s, %d min: %s, %s cores, %s\n%10s %8s %8s  %s\n", t.By.Key, t.Minutes, t.Total, t.Cores, t.All, "time", "cores", "share", t.By.Title)
	for _, one := range t.Rows {
		fmt.Fprintf(w, "%10s %8s %8s  %s %s\n", one.CPU, one.Cores, one.Share, termtext.OneLine(one.Name), termtext.OneLine(one.About))
	}
}
