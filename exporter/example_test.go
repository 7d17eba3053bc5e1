// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
)

// Two destinations for every profile. Here the program plays the profiler's
// part.
func ExampleNewMulti() {
	ctx := context.Background()
	var memory, archive exportertest.Recorder
	all := exporter.NewMulti(&memory, &archive)

	p := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, []byte("pprof bytes"))
	if err := all.Export(ctx, p); err != nil {
		fmt.Println(err)
	}
	if err := all.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(memory.Profiles()), len(archive.Profiles()), all.Dropped())
	// Output: 1 1 0
}
