// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"context"
	"fmt"
	"log"

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
