// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

func Example() {
	ctx := context.Background()
	exp := new(exportertest.Recorder) // or a store, a network exporter, ...

	p, err := profiler.New(exp)
	if err != nil {
		log.Fatal(err)
	}
	// The program works. At its end the open windows are exported.
	if err := p.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	for _, w := range exp.Profiles() {
		fmt.Println(w.Kind())
	}
	// Output:
	// heap
	// cpu
}

// The program's own code takes a profile while the Profiler's windows go on.
func ExampleProfiler_Profile() {
	ctx := context.Background()
	p, err := profiler.New(new(exportertest.Recorder))
	if err != nil {
		log.Fatal(err)
	}
	var b bytes.Buffer // or a file
	if err := p.Profile(ctx, &b, exporter.KindCPU, 100*time.Millisecond); err != nil {
		log.Fatal(err)
	}
	if err := p.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	taken, err := profile.Parse(&b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(taken.PeriodType.Type, time.Duration(taken.Period)) // cpu 10ms
}
