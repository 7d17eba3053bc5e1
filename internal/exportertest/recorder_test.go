// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exportertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r exportertest.Recorder
		p := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, nil)

		waited := make(chan error, 1)
		wait := func(n int) { _, err := r.Wait(t.Context(), n); waited <- err }
		go wait(2)
		synctest.Wait()
		for range 2 {
			if err := r.Export(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-waited; err != nil {
			t.Errorf("Wait(2): %v", err)
		}
		if err := r.ForceFlush(t.Context()); err != nil {
			t.Errorf("ForceFlush: %v", err)
		}
		if got := r.Profiles(); len(got) != 2 || got[0] != p {
			t.Errorf("Profiles() = %v", got)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := r.Wait(ctx, 3); len(got) != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait(3) = %d profiles, %v; want 2 and DeadlineExceeded", len(got), err)
		}

		go wait(3)
		synctest.Wait()
		if err := r.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		for _, err := range []error{<-waited, r.Export(t.Context(), p), r.ForceFlush(t.Context())} {
			if !errors.Is(err, exporter.ErrShutdown) {
				t.Errorf("after Shutdown: %v, want ErrShutdown", err)
			}
		}
	})
}
