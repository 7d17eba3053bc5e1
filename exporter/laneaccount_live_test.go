// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// moody is a destination that does all that one may do.
type moody struct{}

func (moody) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	switch rand.IntN(6) {
	case 0:
		return nil, nil
	case 1:
		return []*exporter.Profile{p, p, nil}, nil
	case 2:
		return nil, errors.New("not for me")
	}
	return []*exporter.Profile{p}, nil
}

func (moody) Send(ctx context.Context, _ *exporter.Profile) error {
	switch rand.IntN(6) {
	case 0:
		return errors.New("400")
	case 1:
		return &exporter.RetryError{Err: errors.New("503"), Refused: rand.IntN(2) == 0, After: time.Millisecond}
	case 2:
		panic("500")
	case 3:
		<-ctx.Done()
	}
	return nil
}

// At every moment the account of a lane has each profile exactly once, whatever happens
// to its directory, and whenever Shutdown gives up.
func TestLaneAccountAddsUp(t *testing.T) {
	reports(t)
	const rounds, profiles = 30, 60
	root := t.TempDir()
	t.Cleanup(func() { noWorkers(t) })
	var notSpilled, empty, unsent uint64
	for round := range rounds {
		dir := filepath.Join(root, strconv.Itoa(round))
		q := newQueue(t, moody{}, exporter.WithSpill(dir), exporter.WithMaxBytes(4000), exporter.WithTimeout(2*time.Millisecond))
		m := exporter.NewMulti(q)
		var lanes []exporter.LaneStatus
		look := func() {
			lanes = m.Lanes()
			s := lanes[0]
			if sum := s.Exported + s.Empty + s.Failed + s.Dropped() + s.Kept + uint64(s.Waiting); s.Taken != sum {
				t.Errorf("%d taken, and the account has %d: %+v", s.Taken, sum, s)
			}
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					look()
				}
			}
		})
		for i := range profiles {
			switch i % 20 {
			case 10: // files cannot be written for a while
				_ = os.RemoveAll(dir)
			case 19:
				_ = os.MkdirAll(dir, 0o700)
			}
			to := exporter.Exporter(m)
			if i%3 == 0 {
				to = q
			}
			_ = to.Export(t.Context(), named(strconv.Itoa(i)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(20))*time.Millisecond)
		_ = m.Shutdown(ctx)
		cancel()
		_ = m.Export(t.Context(), named("late"))
		close(stop)
		wg.Wait()
		look()
		s := lanes[0]
		notSpilled, empty, unsent = notSpilled+s.NotSpilled, empty+s.Empty, unsent+s.Unsent
	}
	if notSpilled == 0 || empty == 0 || unsent == 0 {
		t.Errorf("%d not spilled, %d empty, %d unsent: want some of each", notSpilled, empty, unsent)
	}
}
