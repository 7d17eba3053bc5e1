// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/viewer"
)

// A program that reads a page in text gets at most 40 lines.
func TestLines(t *testing.T) {
	s := newStore(t)
	for i := range 20 {
		newRequests(t, s, "shop", fmt.Sprint("GET /", i), 30)
	}
	b := newProfileBuilder()
	for i := range 100 {
		b.add(int64(i), nil, fmt.Sprint("main.f", i), "main.serve")
	}
	export(t, s, shop, exporter.KindCPU, b.profile)
	h := viewer.Handler(s, viewer.WithRunning(func() (all []viewer.Running) {
		for i := range 20 {
			stack := viewer.RunningStack{Goroutines: 1, Frames: make([]runtime.Frame, 30)}
			all = append(all, viewer.Running{ID: fmt.Sprint(i), Start: time.Now(), Stacks: []viewer.RunningStack{stack, stack}})
		}
		return all
	}))
	all, one := url.QueryEscape(".cpu{}"), url.QueryEscape(`.cpu{span_name="query"}`)
	for address, next := range map[string]string{
		"/?": "?format=text&name=GET%20/1\n", "/?name=GET+/1": "?format=text&order=slowest&name=GET%20/1", "/names?": "set limit",
		"/?query=" + all: "more functions", "/comparison?leftQuery=" + one + "&rightQuery=" + all: "more functions", "/running?": "  and 1 more stack\n\n19 more in JSON",
	} {
		text := get(t, h, address+"&format=text").Body.String()
		if n := strings.Count(text, "\n"); n < 10 || n > 40 || !strings.Contains(text, next) {
			t.Errorf("%s: %d lines, want at most 40 with %q:\n%s", address, n, next, text)
		}
	}
}
