// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
)

// A request that ends while it waits for its graph has its error.
func TestWaitForAGraphEndsWithItsRequest(t *testing.T) {
	places := building
	defer func() { building = places }()
	synctest.Test(t, func(t *testing.T) {
		building = make(chan struct{}, 1)
		building <- struct{}{} // Another graph is built.
		ctx, cancel := context.WithCancel(t.Context())
		r := &Reader{ctx: ctx}
		done := make(chan struct{})
		go func() {
			r.summary(new(store.Samples), flame.NewFunctions(false))
			close(done)
		}()
		synctest.Wait()
		cancel()
		<-done
		if !errors.Is(r.err, context.Canceled) || len(building) != 1 {
			t.Errorf("error %v, and %d graphs are built", r.err, len(building))
		}
	})
}
