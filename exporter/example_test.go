// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
)

// courier is a destination that is busy at first.
type courier struct{ attempts int }

func (c *courier) Send(_ context.Context, p *exporter.Profile) error {
	c.attempts++
	if c.attempts == 1 {
		return &exporter.RetryError{Err: errors.New("busy"), After: time.Millisecond, Refused: true}
	}
	fmt.Println("delivered:", p.Kind())
	return nil
}

func (c *courier) Shutdown(context.Context) error { return nil }

// Your own destination, with the queue of the others in front of it.
func ExampleNewQueue() {
	ctx := context.Background()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Println(err) }))
	q, err := exporter.NewQueue("courier", new(courier), exporter.QueueConfig{MaxBytes: 8 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := exporter.NewProfile(exporter.Window{Kind: exporter.KindHeap}, []byte("pprof bytes"))
	if err := q.Export(ctx, p); err != nil {
		fmt.Println(err)
	}
	if err := q.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(q.Status().Exported, "exported after", q.Status().Retries, "retry")
	// Unordered output:
	// courier: will try again: busy
	// delivered: heap
	// 1 exported after 1 retry
}
