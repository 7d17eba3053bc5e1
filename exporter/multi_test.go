// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

func TestMultiMembersAreIndependent(t *testing.T) {
	reported := reporttest.Collect(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var (
			good      exportertest.Recorder
			hanging   = member{export: func() error { <-release; return nil }}
			failing   = member{export: func() error { return errors.New("refused") }}
			panicking = member{export: func() error { panic("out of order") }}
		)
		m := exporter.NewMulti(&hanging, nil, &failing, &panicking, &good)
		p := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, nil)
		if err := m.Export(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := good.Profiles(); len(got) != 1 || got[0] != p {
			t.Fatalf("got %v, want the profile that was exported", got)
		}

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.ForceFlush(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ForceFlush: %v, want DeadlineExceeded of the one that hangs", err)
		}
		for i, want := range []uint64{0, 1, 1, 0} { // the second fails, and the third panics
			if got := lostOf(m.Status()[i]); got != want {
				t.Errorf("queue %d: %d lost, want %d", i, got, want)
			}
		}

		close(release)
		if err := m.ForceFlush(t.Context()); err != nil {
			t.Errorf("ForceFlush: %v", err)
		}
		if err := m.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := m.Shutdown(t.Context()); err != nil {
			t.Errorf("second Shutdown: %v", err)
		}
		for _, err := range []error{m.ForceFlush(t.Context()), m.Export(t.Context(), p), good.Export(t.Context(), p)} {
			if !errors.Is(err, exporter.ErrShutdown) {
				t.Errorf("after Shutdown: %v, want ErrShutdown", err)
			}
		}
	})

	if got := strings.Join(reported(), "\n"); len(reported()) != 2 || !strings.Contains(got, "refused") || !strings.Contains(got, "out of order") {
		t.Errorf("reported %q, want the failure and the panic", got)
	}
}

// member is an exporter with the given Export.
type member struct {
	export func() error
}

func (m *member) Export(context.Context, *exporter.Profile) error { return m.export() }
func (m *member) ForceFlush(context.Context) error                { return nil }
func (m *member) Shutdown(context.Context) error                  { return nil }
