// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// fileSource is a source that is not a store: one CPU profile in the pprof format,
// without spans unless a test adds some.
type fileSource struct {
	profile *profile.Profile
	spans   []store.Span
	// has is what it does not lack, though a file does.
	has store.Lacks
	// err is what every question fails with.
	err error
	// asked is called before every question, if it is set.
	asked func(question any)
	// open and opened count views.
	open, opened int
}

func (s *fileSource) View(ctx context.Context, _, _ time.Time) (store.View, error) {
	s.open++
	s.opened++
	return &fileView{fileSource: s, ctx: ctx}, nil
}

type fileView struct {
	*fileSource
	ctx context.Context
}

func (v *fileView) Close() { v.open-- }

func (v *fileView) Info() store.Info {
	return store.Info{Lacks: (store.LacksUpdates | store.LacksRecords) &^ v.has}
}

// ask fails after the request and in a source that is broken.
func (v *fileView) ask(question any) error {
	if v.asked != nil {
		v.asked(question)
	}
	return cmp.Or(v.ctx.Err(), v.err)
}

func (v *fileView) Spans(q store.SpanQuery) (list store.SpanList, err error) {
	for _, s := range v.spans {
		if !q.Names && (q.ID == "" || s.ProfileID == q.ID) {
			list.Spans = append(list.Spans, s)
		}
	}
	return list, v.ask(q)
}

func (v *fileView) start() time.Time { return time.Unix(0, v.profile.TimeNanos) }

func (v *fileView) samples(q store.Query) []*profile.Sample {
	if v.profile == nil || q.Kind != "" && q.Kind != exporter.KindCPU {
		return nil
	}
	if !q.From.IsZero() && !q.From.Before(v.start().Add(time.Duration(v.profile.DurationNanos))) || !q.Until.IsZero() && !q.Until.After(v.start()) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.profile.Sample), func(s *profile.Sample) bool {
		return slices.ContainsFunc(q.Matchers, func(m store.Matcher) bool { return !matches(m, s) })
	})
}

func matches(m store.Matcher, s *profile.Sample) bool {
	value := strings.Join(s.Label[m.Label()], "")
	switch m.Op() {
	case store.MatchEqual:
		return value == m.Value()
	case store.MatchNotEqual:
		return value != m.Value()
	}
	expression := regexp.MustCompile("^(?:" + m.Value() + ")$")
	return expression.MatchString(value) == (m.Op() == store.MatchRegexp)
}

func (v *fileView) Samples(q store.Query) (*store.Samples, error) {
	a := &store.Samples{Kind: q.Kind}
	if err := v.ask(q); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, s := range v.samples(q) {
		a.SampleType, a.Unit, a.Windows = "cpu", "nanoseconds", 1
		a.Stacks = append(a.Stacks, store.StackValue{Stack: s.Location, Value: s.Value[1]})
		a.Sums = append(a.Sums, store.Sum{Kind: exporter.KindCPU, Labels: make([]string, len(q.Labels)), Start: v.start(), Value: s.Value[1], Samples: s.Value[0]})
		a.Total += s.Value[1]
		a.Samples += s.Value[0]
		for _, name := range s.Label["span_name"] {
			names[name] = true
		}
	}
	a.SpanNames = slices.Sorted(maps.Keys(names))
	if q.Kind == "" {
		a.Sums = []store.Sum{{Kind: exporter.KindCPU, Samples: a.Samples}}
	}
	if a.Profile = newProfileBuilder().profile; v.profile != nil {
		a.Profile = v.profile.Copy()
		a.Profile.Sample = (&fileView{fileSource: &fileSource{profile: a.Profile}}).samples(q)
	}
	return a, nil
}

func (v *fileView) Windows() ([]store.WindowInfo, error) {
	if v.profile == nil {
		return nil, v.ask("windows")
	}
	return []store.WindowInfo{{
		Kind: exporter.KindCPU, Service: "shop", Start: v.start(), Duration: time.Duration(v.profile.DurationNanos), Samples: int64(len(v.profile.Sample)),
	}}, v.ask("windows")
}

// newFile returns the profile of newTestStore, as it came out of a file.
func newFile(t *testing.T) *fileSource {
	t.Helper()
	w := get(t, viewer.Handler(newTestStore(t)), target("/profile", "query", ".cpu", "labels", "ids"))
	p, err := profile.Parse(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &fileSource{profile: p}
}

// Every page answers over a source without spans, status and log, from one view that it
// closes.
func TestPagesOverAFile(t *testing.T) {
	source := newFile(t)
	h := viewer.Handler(source)
	addresses := []string{"/log", "/log?format=json", "/log?format=text"}
	for _, format := range []string{"html", "json", "text"} {
		addresses = append(addresses, target("/", "format", format), target("/comparison", "query", ".cpu", "format", format))
		for _, query := range []string{".cpu", "other.cpu", byID(slowID), byID("none"), `{span_name=~"GET .*",tenant!="x"}`, ".inuse_space", `.mutex_count{a="b"}`} {
			addresses = append(addresses, target("/", "query", query, "format", format), target("/profile", "query", query), target("/timeline", "query", query))
		}
	}
	for _, address := range addresses {
		source.opened = 0
		w := get(t, h, address)
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("GET %s: status %d: %s", address, w.Code, w.Body)
		}
		want := 1
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			want = 0
		}
		if source.opened != want || source.open != 0 {
			t.Errorf("GET %s: %d views were opened, want %d; %d are open", address, source.opened, want, source.open)
		}
	}
}

// A source that fails is an error of the server, on every page.
func TestSourceFails(t *testing.T) {
	for _, address := range []string{
		"/?format=json", "/?format=text", "/timeline?query=.cpu", target("/", "query", ".cpu", "format", "folded"),
		target("/", "query", ".cpu", "format", "text"), target("/profile", "query", ".cpu"), target("/comparison", "query", ".cpu", "format", "json"),
	} {
		source := newFile(t)
		h := viewer.Handler(source)
		// Every question may fail.
		questions := 0
		source.asked = func(any) { questions++ }
		get(t, h, address)
		for failing := range questions {
			n := 0
			source.asked = func(any) {
				source.err = nil
				if n == failing {
					source.err = http.ErrAbortHandler
				}
				n++
			}
			if w := get(t, h, address); w.Code != http.StatusInternalServerError || source.open != 0 {
				t.Errorf("GET %s: status %d although question %d of %d fails", address, w.Code, failing+1, questions)
			}
		}
		if questions == 0 {
			t.Errorf("GET %s asks nothing", address)
		}
	}
}

// A client that goes away while the source works is not answered any further.
func TestClientGoesAwayMeanwhile(t *testing.T) {
	source := newFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	questions := 0
	source.asked = func(any) {
		questions++
		cancel()
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target("/", "query", byID(slowID), "format", "json"), nil)
	if w := do(t, viewer.Handler(source), r); w.Code != http.StatusServiceUnavailable || questions != 1 {
		t.Errorf("status %d after %d questions, want 1", w.Code, questions)
	}
}
