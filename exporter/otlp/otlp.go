// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// New returns an exporter that sends profiles by OTLP/HTTP, to
// https://localhost:4318 unless options or the environment say otherwise. It
// does not wait for a connection.
//
// The error says which option or value it is that makes no sense.
func New(opts ...Option) (*exporter.Queue, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	converter, err := convert.New(c.conversion...)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	// The queue names itself in its errors.
	return exporter.NewQueue("otlp", newDestination(c, converter), c.queue...)
}
