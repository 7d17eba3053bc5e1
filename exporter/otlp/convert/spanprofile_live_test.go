// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package convert_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
)

// smallSpanProfile is one for all tests.
var smallSpanProfile = sync.OnceValues(func() (*profile.Profile, error) { return spanProfile(60, 40) })

// spanProfile returns a CPU profile of real code in short spans. It has n samples. Some of them
// belong to spans, and links is the number of spans.
func spanProfile(n, links int) (*profile.Profile, error) {
	provider := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	defer func() { _ = provider.Shutdown(context.Background()) }()
	tracer := provider.Tracer("test")

	// A thread that has a CPU takes 100 samples a second. Samples with equal stacks
	// in one span are merged. Repeat until there are enough.
	p := new(profile.Profile)
	for {
		if samples, ok := choose(p.Sample, n, links); ok {
			p.Sample = samples
			return p.Compact(), nil
		}
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			return nil, err
		}
		end := time.Now().Add(time.Second)
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for time.Now().Before(end) {
					_, span := tracer.Start(context.Background(), "GET /search")
					for start := time.Now(); time.Since(start) < 9*time.Millisecond; {
						work()
					}
					span.End()
				}
			})
		}
		wg.Wait()
		pprof.StopCPUProfile()
		next, err := profile.ParseData(b.Bytes())
		if err != nil {
			return nil, err
		}
		if len(p.Sample) > 0 {
			if next, err = profile.Merge([]*profile.Profile{p, next}); err != nil {
				return nil, err
			}
		}
		p = next
	}
}

// choose returns n samples of exactly that many spans, if there are enough.
func choose(samples []*profile.Sample, n, links int) ([]*profile.Sample, bool) {
	var first, more []*profile.Sample
	spans := map[string]bool{}
	for _, s := range samples {
		id := strings.Join(s.Label["span_id"], "")
		switch {
		case id != "" && !spans[id] && len(first) < links:
			spans[id] = true
			first = append(first, s)
		case id == "" || spans[id]:
			more = append(more, s)
		}
	}
	if len(first) < links || len(first)+len(more) < n {
		return nil, false
	}
	return append(first, more[:n-links]...), true
}

var search = regexp.MustCompile(`(a|b|ab)*c.*d`)

// work is what services do: JSON, regular expressions, gzip.
func work() {
	type item struct {
		Name string
		Tags map[string]string
	}
	items := []item{{"first", map[string]string{"a": "b", "c": "d"}}, {"second", map[string]string{"e": "f"}}}
	text, _ := json.Marshal(items)
	_ = json.Unmarshal(text, &items)
	search.MatchString(strings.Repeat("ab", 50) + "c")
	w := gzip.NewWriter(new(bytes.Buffer))
	_, _ = w.Write(bytes.Repeat(text, 20))
	_ = w.Close()
}
