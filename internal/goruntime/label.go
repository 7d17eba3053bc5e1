// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

import (
	"context"
	"runtime/pprof"

	"github.com/spanprof/spanprof/internal/contextkey"
)

// Label is a goroutine label. It has the layout of runtime/pprof's.
type Label struct{ Key, Value string }

// LabelSet has the layout of runtime/pprof's labelMap: labels sorted by key, which
// nobody changes once a goroutine carries the set.
type LabelSet struct{ List []Label }

// StackRecord is the runtime's internal/profilerecord.StackRecord.
type StackRecord struct{ Stack []uintptr }

// LabelsKey is the key under which runtime/pprof keeps labels in a context.
var LabelsKey = contextkey.Asked(func(ctx context.Context) { pprof.Label(ctx, "") })

// Labels returns the labels of s, which may be nil.
func (s *LabelSet) Labels() []Label {
	if s == nil {
		return nil
	}
	return s.List
}

// Find returns the label with the given key, nil if s, which may be nil, has none.
func (s *LabelSet) Find(key string) *Label {
	if s == nil {
		return nil
	}
	for i := range s.List {
		if s.List[i].Key == key {
			return &s.List[i]
		}
	}
	return nil
}
