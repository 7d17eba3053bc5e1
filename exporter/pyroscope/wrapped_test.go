// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"context"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
)

// cpuOnly is how a program filters what it sends.
type cpuOnly struct {
	*exporter.Queue

	left int
}

func (c *cpuOnly) Export(ctx context.Context, p *exporter.Profile) error {
	if p.Kind() != exporter.KindCPU {
		c.left++
		return nil
	}
	return c.Queue.Export(ctx, p)
}

// An Exporter in a struct that has an Export of its own is not bypassed.
func TestWrappedExporterIsCalled(t *testing.T) {
	push, err := pyroscope.New("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	filter := &cpuOnly{Queue: push}
	m := exporter.NewMulti(filter)
	if err := m.Export(t.Context(), exporter.NewProfile(exporter.Window{Kind: exporter.KindHeap}, nil)); err != nil {
		t.Fatal(err)
	}
	if err := m.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := push.Status(); filter.left != 1 || got.Taken != 0 {
		t.Errorf("%d filtered, and the account of the server is %+v, want 1 and nothing", filter.left, got)
	}
}
