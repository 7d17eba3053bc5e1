// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handoff_test

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/spanprof/spanprof/internal/handoff"
)

var (
	_ handoff.Sink[int] = (*sink)(nil)
	_ handoff.Sink[int] = discard{}
)

// sink records the calls that have returned, and does what its funcs say.
type sink struct {
	export               func(context.Context, int) error
	forceFlush, shutdown func(context.Context) error

	mu  sync.Mutex
	log []string
}

func (s *sink) Export(ctx context.Context, item int) error {
	defer s.record(strconv.Itoa(item))
	if s.export == nil {
		return nil
	}
	return s.export(ctx, item)
}

func (s *sink) ForceFlush(ctx context.Context) error {
	defer s.record("flush")
	if s.forceFlush == nil {
		return nil
	}
	return s.forceFlush(ctx)
}

func (s *sink) Shutdown(ctx context.Context) error {
	defer s.record("shutdown")
	if s.shutdown == nil {
		return nil
	}
	return s.shutdown(ctx)
}

func (s *sink) record(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, call)
}

func (s *sink) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// discard takes everything at once.
type discard struct{}

func (discard) Export(context.Context, int) error { return nil }
func (discard) ForceFlush(context.Context) error  { return nil }
func (discard) Shutdown(context.Context) error    { return nil }
