// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"context"
	"log"
	"time"

	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/profiler"
)

// Keep the last day of profiles, in at most 1 GiB.
func ExampleNew() {
	exp, err := file.New("/var/lib/shop/profiles", 1<<30, 24*time.Hour)
	if err != nil {
		log.Print(err)
		return
	}
	p, err := profiler.New(exp)
	if err != nil {
		log.Print(err)
		return
	}
	// At the end of the program; the profiler shuts the exporter down.
	if err := p.Shutdown(context.Background()); err != nil {
		log.Print(err)
	}
}
