// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"fmt"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
)

// Subscribe takes this process's samples from the socket of a hostview on the same
// machine until ctx ends. In containers, mount the socket's directory: network and process ids
// need not be shared.
//
//	go func() { errs <- r.Subscribe(ctx, "/run/spanprof/host.sock") }()
//
// It connects again, with pauses of up to ten seconds, whenever it loses the connection
// or there is none; otel.Handle gets why, once a minute. A process has one
// connection: of several, the last one works. It returns an error for an invalid path.
//
// Do not give the receiver the agent's own messages as well: it would count the samples
// twice.
func (r *Receiver) Subscribe(ctx context.Context, path string) error {
	err := handout.Read(ctx, path, func(d handout.Delivery) {
		r.count(Status{Lost: d.Lost})
		if d.Message == nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := r.takeOwn(ctx, d.Connection, d.Message); err != nil {
			r.refuse(Status{Messages: 1, Refused: 1, Reason: err.Error()}, err)
		}
	}, func(err error) {
		r.reports.Report(fmt.Errorf("receiver: %w", err))
	})
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	return nil
}
