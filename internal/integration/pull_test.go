// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

// A labelled app is scraped as Alloy does it and by a second scraper, while the
// profiler pushes: everybody gets every answer, and all see the same samples.
//
// Alloy has a loop for each endpoint: every interval it asks for a CPU profile
// that is a little shorter, and for the others. The intervals here are shorter
// than its 15 s, and get longer while the machine is too slow for the comparison.
func TestPull(t *testing.T) {
	for interval := 2 * time.Second; interval <= 32*time.Second; interval *= 2 {
		if pull(t, interval) || t.Failed() {
			return
		}
	}
	t.Error("no samples, or none of both scrapers that cover the work")
}

// pull reports whether the work could be compared.
func pull(t *testing.T, interval time.Duration) bool {
	t.Helper()
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithWindow(interval/3))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
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

	var alloy, second scraper
	var wg sync.WaitGroup
	seconds := strconv.FormatFloat((interval - interval/8).Seconds(), 'f', 3, 64)
	wg.Go(func() { alloy.scrape(t, server.URL+"/debug/pprof/profile?seconds="+seconds) })
	for _, name := range []string{"allocs", "block", "goroutine", "mutex"} {
		wg.Go(func() {
			for range 2 {
				alloy.scrape(t, server.URL+"/debug/pprof/"+name)
			}
		})
	}
	wg.Go(func() { second.scrape(t, server.URL+"/debug/pprof/profile?seconds="+seconds) })
	for _, name := range []string{"delta_heap", "delta_mutex", "delta_block"} {
		wg.Go(func() {
			for range 2 {
				second.scrape(t, server.URL+"/debug/pprof/"+name)
			}
		})
	}
	<-time.After(interval / 4) // both have begun, or it is tried again
	begin := time.Now()
	if _, err := fetch(t.Context(), server.URL+"/order?d="+(interval/4).String()); err != nil {
		t.Error(err)
	}
	end := time.Now()
	wg.Wait()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}

	pushed := map[string]int64{}
	windows := 0
	for _, w := range rec.Profiles() {
		if w.Kind() != exporter.KindCPU {
			continue
		}
		windows++
		parsed, err := w.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		addBySpan(pushed, parsed)
	}
	if t.Failed() || len(pushed) == 0 || !alloy.covers(begin, end) || !second.covers(begin, end) {
		return false
	}
	for name, s := range map[string]*scraper{"alloy": &alloy, "second": &second} {
		pulled := map[string]int64{}
		addBySpan(pulled, s.cpu)
		if fmt.Sprint(pulled) != fmt.Sprint(pushed) {
			t.Errorf("%s has samples %v, the %d windows have %v", name, pulled, windows, pushed)
		}
	}
	t.Logf("pushed in %d windows, and pulled twice: %v", windows, pushed)
	if got := p.Status(); got.WindowsSkipped+got.WindowsDropped+got.ExportErrors != 0 {
		t.Errorf("Status() = %+v, want no loss", got)
	}
	return true
}

// scraper is somebody who pulls.
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

// addBySpan adds the samples of a CPU profile to those of their spans.
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
