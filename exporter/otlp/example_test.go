// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/profiler"
)

// Profiles to a Collector on this host, kept in a directory while it is away.
func ExampleNew() {
	exp, err := otlp.New(
		otlp.WithEndpointURL("http://localhost:4318/v1development/profiles"),
		otlp.WithQueue(exporter.QueueConfig{MaxBytes: 64 << 20}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := profiler.New(exp)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		// Not the context of a signal, which has ended by then.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = p.Shutdown(ctx)
	}()
}
