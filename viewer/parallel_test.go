// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// Fifty clients request every page in every format while windows arrive and are evicted: each
// answer is whole. A window of the busy program has 200 samples, one of the busy span.
func TestParallelPagesUnderEviction(t *testing.T) {
	s, err := store.New(store.WithMaxBytes(8 << 20))
	if err != nil {
		t.Fatal(err)
	}
	busy := newBusyProgram(t, s)
	for s.Stats().WindowsEvicted == 0 {
		busy.export(t)
	}
	h := viewer.Handler(s)
	span := `.cpu{profile_id="` + busySpan.String() + `"}`
	expression := `.cpu{span_id=~".*[0-7]"}`
	pages := []struct {
		address string
		check   func(body []byte) error
	}{
		{target("/", "query", ".cpu", "format", "json"), wholeProfile(200)},
		{target("/", "query", span, "format", "json"), wholeProfile(1)},
		{target("/", "query", expression, "format", "json"), wholeProfile(1)},
		{target("/", "query", ".cpu", "format", "pprof"), wholePprof(200)},
		{target("/", "query", span, "format", "pprof", "labels", "ids"), wholePprof(1)},
		{target("/", "query", span, "format", "pprof"), wholePprof(1)},
		{target("/", "query", ".cpu", "format", "folded"), wholeFolded(200)},
		{target("/", "query", ".cpu", "format", "text"), wholeText},
		{target("/comparison", "leftQuery", ".cpu", "rightQuery", span, "format", "json"), wholeComparison},
		{target("/comparison", "query", ".cpu", "format", "folded"), wholeText},
		{target("/comparison", "leftQuery", ".cpu", "rightQuery", span, "format", "pprof"), wholePprof(0)},
		{target("/timeline", "query", ".cpu", "format", "json"), wholeTimeline},
		{target("/", "format", "json", "by", "http.route"), wholeJSON},
		{target("/", "format", "json", "trace", "01000000000000000000000000000000"), wholeJSON},
		{target("/", "format", "text"), wholeText},
		{target("/", "format", "pprof", "limit", "10"), wholePprof(0)},
		{target("/log", "format", "json"), wholeJSON},
		{target("/log", "format", "text"), wholeText},
	}
	evicted := s.Stats().WindowsEvicted
	// A segment of about 200 windows is evicted at a time: with three each, at least one is.
	const each, windows = 2, 3
	var (
		clients sync.WaitGroup
		feeding sync.Mutex
	)
	for client := range 50 {
		clients.Go(func() {
			for i := range each {
				feeding.Lock()
				for range windows {
					busy.export(t)
				}
				feeding.Unlock()
				p := pages[(client*each+i)%len(pages)]
				r := httptest.NewRequest(http.MethodGet, p.address, http.NoBody)
				r.Host = "localhost"
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					t.Errorf("GET %s: status %d: %s", p.address, w.Code, w.Body)
				} else if err := p.check(w.Body.Bytes()); err != nil {
					t.Errorf("GET %s: %v", p.address, err)
				}
			}
		})
	}
	clients.Wait()
	if n := s.Stats().WindowsEvicted - evicted; n < 30 {
		t.Errorf("%d windows made room meanwhile, want 30 at least", n)
	}
}

// whole reports an error for samples of a part of a window.
func whole(samples, ofWindow int64) error {
	if samples == 0 || samples%ofWindow != 0 {
		return fmt.Errorf("%d samples, where a window has %d", samples, ofWindow)
	}
	return nil
}

// flameTotal has the totals of a graph by node, and the self of its functions.
type flameTotal struct {
	Total, LeftTotal []int64
	Functions        struct{ Self []int64 }
}

// wholeProfile checks that the graph, the functions and the kinds have all samples.
func wholeProfile(ofWindow int64) func([]byte) error {
	return func(body []byte) error {
		var a struct {
			Total, Samples int64
			Flame          flameTotal
			Kinds          []kindCount
			Span           *struct{ SamplesHeld int64 }
		}
		if err := json.Unmarshal(body, &a); err != nil {
			return err
		}
		var self int64
		for _, v := range a.Flame.Functions.Self {
			self += v
		}
		if a.Total != a.Samples*busyPeriod || a.Flame.Total[0] != a.Total || self != a.Total || cpuSamples(a.Kinds) != a.Samples || a.Span != nil && a.Span.SamplesHeld != a.Samples {
			return fmt.Errorf("contradicts itself: %+v", a)
		}
		return whole(a.Samples, ofWindow)
	}
}

// wholePprof checks the number of samples, or nothing if ofWindow is 0: a difference.
func wholePprof(ofWindow int64) func([]byte) error {
	return func(body []byte) error {
		p, err := profile.Parse(bytes.NewReader(body))
		if err != nil || ofWindow == 0 {
			return err
		}
		var samples int64
		for _, s := range p.Sample {
			if len(s.Location) != 1 || s.Value[1] != s.Value[0]*busyPeriod {
				return fmt.Errorf("sample %v", s)
			}
			samples += s.Value[0]
		}
		return whole(samples, ofWindow)
	}
}

func wholeFolded(ofWindow int64) func([]byte) error {
	return func(body []byte) error {
		var sum int64
		for line := range strings.Lines(string(body)) {
			n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
			if err != nil {
				return err
			}
			sum += n
		}
		return whole(sum, ofWindow*busyPeriod)
	}
}

func wholeComparison(body []byte) error {
	var c struct {
		Left, Right struct{ Total, Samples int64 }
		Flame       flameTotal
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return err
	}
	if c.Flame.LeftTotal[0] != c.Left.Total || c.Flame.Total[0] != c.Right.Total || c.Right.Samples == 0 {
		return fmt.Errorf("contradicts itself: %+v", c)
	}
	return whole(c.Left.Samples, 200)
}

func wholeTimeline(body []byte) error {
	var l struct {
		Buckets []struct {
			Values []int64
			Rest   int64
		}
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return err
	}
	var sum int64
	for _, b := range l.Buckets {
		sum += b.Rest
		for _, v := range b.Values {
			sum += v
		}
	}
	return whole(sum, 200*busyPeriod)
}

func wholeJSON(body []byte) error {
	if !json.Valid(body) {
		return fmt.Errorf("not JSON: %s", body)
	}
	return nil
}

func wholeText(body []byte) error {
	if !bytes.HasSuffix(body, []byte("\n")) || bytes.Contains(body, []byte("%!")) {
		return fmt.Errorf("not whole: %q", body)
	}
	return nil
}
