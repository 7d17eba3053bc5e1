// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

// A labelled app is scraped as Alloy does it and by a second scraper, while the
// profiler pushes to files: everybody gets every answer, and all see the same
// samples.
//
// Alloy has a loop for each endpoint: every interval it requests a CPU profile
// that is a second shorter, and the others. The intervals here are shorter than its
// 15 s. They get longer while the machine is too slow for the comparison.
func TestPull(t *testing.T) {
	livetest.Doubling(t, 6*time.Second, func(interval time.Duration) string { return pull(t, interval) })
}

// pull returns "" if the work could be compared.
func pull(t *testing.T, interval time.Duration) (missing string) {
	t.Helper()
	dir := t.TempDir()
	exp, err := file.New(dir, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profiler.New(exp, profiler.WithWindow(interval/3))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background()) //nolint:errcheck // it has been shut down below, unless the test has failed
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", profhttp.Handler(p))
	mux.HandleFunc("/order", func(_ http.ResponseWriter, r *http.Request) {
		d, _ := time.ParseDuration(r.FormValue("d"))
		_, span := tp.Tracer("shop").Start(r.Context(), "order")
		defer span.End()
		burn(d)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	rounds := make([]*round, 2)
	for i := range rounds {
		if i > 0 {
			<-ticker.C
		}
		rounds[i] = pullOnce(t, server.URL, interval)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}

	pushed, windows := readBack(t, dir)
	if t.Failed() {
		return ""
	}
	comparable := slices.DeleteFunc(slices.Clone(rounds), func(r *round) bool { return !r.comparable() })
	if len(pushed) != len(rounds) || len(comparable) != len(rounds) {
		return fmt.Sprintf("got samples of %d spans, and %d rounds with both scrapers around the work, want %d", len(pushed), len(comparable), len(rounds))
	}
	seen := map[string]bool{}
	for i, r := range rounds {
		for name, s := range map[string]*scraper{"alloy": &r.alloy, "second": &r.second} {
			pulled := map[string]int64{}
			addBySpan(pulled, s.cpu)
			if len(pulled) != 1 {
				t.Errorf("round %d: %s has samples of %v, want one span", i, name, pulled)
			}
			for id, n := range pulled {
				seen[id] = true
				if n != pushed[id] {
					t.Errorf("round %d: %s has %d samples of %s, the %d windows have %d", i, name, n, id, windows, pushed[id])
				}
			}
		}
	}
	if len(seen) != len(rounds) {
		t.Errorf("the spans %v were pulled, want one of each of %d rounds", seen, len(rounds))
	}
	t.Logf("pushed in %d windows, and pulled twice: %v", windows, pushed)
	if got := p.Status(); got.WindowsSkipped != 0 || slices.ContainsFunc(got.Lanes, func(l exporter.Status) bool { return l.Exported != l.Taken }) {
		t.Errorf("Status() = %+v, want no loss", got)
	}
	return ""
}

// round is what both scrapers got of CPU in one interval, and when there was work.
type round struct {
	alloy, second scraper
	begin, end    time.Time
}

// pullOnce scrapes for an interval. The second scraper begins after Alloy and ends
// before, each by more than a second. Within a second they would share their edges.
func pullOnce(t *testing.T, url string, interval time.Duration) *round {
	t.Helper()
	var r round
	var wg sync.WaitGroup
	profileOf := func(d time.Duration) string {
		return url + "/debug/pprof/profile?seconds=" + strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	}
	wg.Go(func() { r.alloy.scrape(t, profileOf(interval-time.Second)) })
	for _, name := range []string{"allocs", "block", "goroutine", "mutex"} {
		wg.Go(func() { r.alloy.scrape(t, url+"/debug/pprof/"+name) })
	}
	wg.Go(func() {
		<-time.After(interval / 4)
		r.second.scrape(t, profileOf(interval*3/8))
	})
	for _, name := range []string{"delta_heap", "delta_mutex", "delta_block"} {
		wg.Go(func() { r.second.scrape(t, url+"/debug/pprof/"+name) })
	}
	<-time.After(interval * 3 / 8) // both have begun, or it is tried again
	r.begin = time.Now()
	if _, err := fetch(t.Context(), url+"/order?d="+(interval/8).String()); err != nil {
		t.Error(err)
	}
	r.end = time.Now()
	wg.Wait()
	return &r
}

// comparable reports whether both scrapers have all of the work, and no edge in
// common.
func (r *round) comparable() bool {
	a, b := r.alloy.cpu, r.second.cpu
	return r.alloy.covers(r.begin, r.end) && r.second.covers(r.begin, r.end) &&
		a.TimeNanos != b.TimeNanos && a.TimeNanos+a.DurationNanos != b.TimeNanos+b.DurationNanos
}

// readBack returns the samples of spans that are in the files, and in how many.
func readBack(t *testing.T, dir string) (pushed map[string]int64, windows int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pprof.gz"))
	if err != nil {
		t.Fatal(err)
	}
	pushed = map[string]int64{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := profile.ParseData(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := parsed.CheckValid(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasSuffix(name, "-cpu.pprof.gz") {
			windows++
			addBySpan(pushed, parsed)
		}
	}
	return pushed, windows
}

// scraper is a client that pulls.
type scraper struct {
	cpu *profile.Profile
}

// scrape fails the test as Alloy fails: where an answer is not 200, is empty or is
// not a profile.
func (s *scraper) scrape(t *testing.T, url string) {
	t.Helper()
	body, err := fetch(t.Context(), url)
	if err != nil {
		t.Error(err)
		return
	}
	parsed, err := profile.ParseData(body)
	if err != nil {
		t.Errorf("%s: %v", url, err)
		return
	}
	if err := parsed.CheckValid(); err != nil {
		t.Errorf("%s: %v", url, err)
	}
	if parsed.PeriodType != nil && parsed.PeriodType.Type == "cpu" {
		s.cpu = parsed
	}
}

// covers reports whether the CPU profile began before and ended after some work.
func (s *scraper) covers(begin, end time.Time) bool {
	return s.cpu.TimeNanos < begin.UnixNano() && s.cpu.TimeNanos+s.cpu.DurationNanos > end.UnixNano()
}

// fetch makes a request as a scraper in Kubernetes makes it: to the address of a
// pod.
func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Host = "10.244.0.17:8080"
	request.Header.Set("User-Agent", "Alloy")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s %s", url, response.Status, body))
	}
	return body, err
}

// addBySpan adds the samples of a CPU profile to the sums of their spans.
func addBySpan(sum map[string]int64, p *profile.Profile) {
	for _, s := range p.Sample {
		ids := s.Label[spanprof.LabelSpanID]
		if len(ids) == 1 && slices.Equal(s.Label[spanprof.LabelSpanName], []string{"order"}) {
			sum[ids[0]] += s.Value[0]
		}
	}
}

func burn(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; n++ {
		_ = strconv.Itoa(n)
	}
}
