// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/grafana/pyroscope-go/godeltaprof"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ sampler = (*heap)(nil)

// heap takes the difference between one heap profile and the next.
type heap struct {
	resource *resource.Resource
	profiler *godeltaprof.HeapProfiler
	opened   time.Time
}

func newHeap(r *resource.Resource) *heap {
	return &heap{resource: r, profiler: godeltaprof.NewHeapProfiler()}
}

// start takes a profile and throws it away: it holds what was allocated before.
func (h *heap) start() error {
	h.opened = time.Now()
	if err := h.profiler.Profile(io.Discard); err != nil {
		return fmt.Errorf("heap profile: the first window holds all allocations so far: %w", err)
	}
	return nil
}

func (h *heap) rotate() (*exporter.Profile, error) {
	opened := h.opened
	h.opened = time.Now()
	var b bytes.Buffer
	if err := h.profiler.Profile(&b); err != nil {
		return nil, fmt.Errorf("heap profile: %w", err)
	}
	return exporter.NewProfile(exporter.Window{
		Kind:     exporter.KindHeap,
		Start:    opened,
		Duration: h.opened.Sub(opened),
		Resource: h.resource,
	}, b.Bytes()), nil
}

// stop is rotate: nothing runs between two heap profiles.
func (h *heap) stop() (*exporter.Profile, error) { return h.rotate() }
