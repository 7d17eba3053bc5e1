// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

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

// smallSpanProfile is one of 60 samples, for all tests.
var smallSpanProfile = sync.OnceValues(func() (*profile.Profile, error) {
	_, p, err := spanProfile(60)
	return p, err
})

// spanProfile returns a CPU profile of at least n samples, encoded by the
// runtime, and parsed without those above n. They are of real code in short
// spans: about 1.2 samples each.
func spanProfile(n int) ([]byte, *profile.Profile, error) {
	provider := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	defer func() { _ = provider.Shutdown(context.Background()) }()
	tracer := provider.Tracer("test")

	// One thread takes 100 samples a second. Whatever the machine gives us, try
	// for longer until it is enough.
	for d := time.Duration(n) * 10 * time.Millisecond / time.Duration(runtime.GOMAXPROCS(0)); ; d += d / 2 {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), d)
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for ctx.Err() == nil {
					_, span := tracer.Start(ctx, "GET /search")
					for start := time.Now(); time.Since(start) < 12*time.Millisecond; {
						work()
					}
					span.End()
				}
			})
		}
		wg.Wait()
		cancel()
		pprof.StopCPUProfile()
		p, err := profile.ParseData(b.Bytes())
		if err != nil {
			return nil, nil, err
		}
		if len(p.Sample) >= n {
			p.Sample = p.Sample[:n]
			return b.Bytes(), p.Compact(), nil
		}
	}
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
