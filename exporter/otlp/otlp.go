// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

var _ exporter.Exporter = (*Exporter)(nil)

// Exporter is the queue in front of one server. It is safe for concurrent use and
// must be shut down.
type Exporter struct {
	*exporter.Queue

	destination *destination
}

// Empty returns how many profiles had no samples, as those of idle windows. They are
// not sent, and are among the exported ones of Stats.
func (e *Exporter) Empty() uint64 { return e.destination.sender.Empty() }

// New returns an exporter that sends profiles by OTLP/HTTP, to
// https://localhost:4318 unless options or the environment say otherwise. It
// does not wait for a connection.
//
// The error says which option or value it is that makes no sense.
func New(opts ...Option) (*Exporter, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	converter, err := convert.New(c.conversion...)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	// The queue names itself in its errors.
	d := newDestination(c, converter)
	q, err := exporter.NewQueue("otlp", d, c.queue...)
	if err != nil {
		return nil, err
	}
	return &Exporter{Queue: q, destination: d}, nil
}
