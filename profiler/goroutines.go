// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ sampler = (*goroutines)(nil)

// goroutines counts goroutines at the end of each window, by stack and labels.
type goroutines struct {
	resource *resource.Resource
}

func (*goroutines) start() error { return nil }

func (g *goroutines) rotate() (*exporter.Profile, error) {
	now := time.Now()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		return nil, fmt.Errorf("goroutine profile: %w", err)
	}
	return exporter.NewProfile(exporter.Window{
		Kind:     exporter.KindGoroutine,
		Start:    now,
		Resource: g.resource,
	}, b.Bytes()), nil
}

func (g *goroutines) stop() (*exporter.Profile, error) { return g.rotate() }
