// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// New returns an exporter that sends profiles by OTLP/gRPC, with TLS to
// localhost:4317 unless options or the environment say otherwise. It does not
// wait for a connection.
//
// The error says which option or value it is that makes no sense.
func New(opts ...Option) (*exporter.Queue, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("otlpgrpc: %w", err)
	}
	converter, err := convert.New(c.conversion...)
	if err != nil {
		return nil, fmt.Errorf("otlpgrpc: %w", err)
	}
	conn, err := grpc.NewClient(c.target, c.dialOptions()...)
	if err != nil {
		return nil, fmt.Errorf("otlpgrpc: endpoint %q: %w", c.target, err)
	}
	q, err := exporter.NewQueue("otlpgrpc", newDestination(c, conn, converter), c.queue...)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return q, nil
}
