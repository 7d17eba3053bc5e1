// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// An answer waits for its turn to build a graph. It gives up with its request, and after ten
// seconds.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(Gate, 2)
		for range cap(g) {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		entered := make(chan error, 1)
		try := func(ctx context.Context) { entered <- g.enter(ctx) }

		go try(t.Context())
		synctest.Wait()
		select {
		case err := <-entered:
			t.Fatalf("a third answer did not wait: %v", err)
		default:
		}
		g.leave()
		if err := <-entered; err != nil {
			t.Errorf("after another left: %v", err)
		}

		start := time.Now()
		go try(t.Context())
		if err := <-entered; !errors.Is(err, ErrBusy) || time.Since(start) != maxWait {
			t.Errorf("error %v after %v, want ErrBusy after %v", err, time.Since(start), maxWait)
		}

		ctx, cancel := context.WithCancel(t.Context())
		start = time.Now()
		go try(ctx)
		synctest.Wait()
		cancel()
		if err := <-entered; !errors.Is(err, ErrBusy) || time.Since(start) != 0 {
			t.Errorf("error %v after %v, want ErrBusy at once", err, time.Since(start))
		}
		if len(g) != cap(g) {
			t.Errorf("%d places are taken, want %d", len(g), cap(g))
		}
	})
}
