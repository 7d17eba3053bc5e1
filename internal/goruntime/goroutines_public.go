// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.28 || spanprof_public || !(386 || amd64 || arm64)

package goruntime

// ListsGoroutines is false.
func ListsGoroutines() bool { return false }

// Goroutines returns nil.
func Goroutines([]StackRecord, []*LabelSet) ([]StackRecord, []*LabelSet) { return nil, nil }
