// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"sync"

	"github.com/spanprof/spanprof/internal/handoff"
)

var _ Exporter = (*Multi)(nil)

// Multi is an Exporter that gives every profile to several others. Each of them
// has a queue and a goroutine of its own, so that one which is slow, fails or
// panics does not hold the others up.
//
// A member whose queue is full, because it has been slow for 48 profiles or for
// 32 MiB of them, loses the oldest. Errors and panics of a member's Export are reported through
// otel.Handle, whose handler may use the Multi. [Multi.Dropped] counts what was lost.
//
// A Multi is safe for concurrent use and must be shut down: it holds goroutines
// from NewMulti on.
type Multi struct {
	members []*handoff.Queue[*Profile]
}

// NewMulti returns an Exporter in front of exporters, of which it takes
// ownership: its Shutdown shuts them down. Nil ones are left out.
func NewMulti(exporters ...Exporter) *Multi {
	m := new(Multi)
	for _, e := range exporters {
		if e != nil {
			m.members = append(m.members, handoff.New(e, (*Profile).Size, ErrShutdown))
		}
	}
	return m
}

// Export hands p to every member's queue and returns at once: nil, or
// ErrShutdown after Shutdown.
func (m *Multi) Export(_ context.Context, p *Profile) error {
	var err error
	for _, q := range m.members {
		if e := q.Push(p); e != nil {
			err = e
		}
	}
	return err
}

// ForceFlush flushes all members at once, and joins their errors. It returns
// after each has delivered what it was given, or when ctx ends. Meanwhile members
// take new profiles.
func (m *Multi) ForceFlush(ctx context.Context) error {
	return m.all(func(q *handoff.Queue[*Profile]) error { return q.Flush(ctx) })
}

// Shutdown lets every member deliver what it was given until ctx ends, shuts
// all of them down at once, and joins their errors. Members get all but the last
// tenth of a second of ctx, which is for what they say of profiles that they could
// not deliver. It returns when ctx ends even if a member does not.
func (m *Multi) Shutdown(ctx context.Context) error {
	return m.all(func(q *handoff.Queue[*Profile]) error { return q.Shutdown(ctx) })
}

// Dropped returns how many profiles did not reach a member, because it was too
// slow for them, failed or panicked, or because the time at Shutdown was too
// short. A profile that two members missed counts twice.
func (m *Multi) Dropped() uint64 {
	var n uint64
	for _, q := range m.members {
		s := q.Stats()
		n += s.Dropped + s.Failed
	}
	return n
}

func (m *Multi) all(f func(*handoff.Queue[*Profile]) error) error {
	errs := make([]error, len(m.members))
	var wg sync.WaitGroup
	for i, q := range m.members {
		wg.Go(func() { errs[i] = f(q) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
