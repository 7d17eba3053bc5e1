// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.28 || spanprof_public

package goruntime

const notLinked = "goruntime: used although Unknown returns an error"

// ListsGoroutines is false.
func ListsGoroutines() bool { return false }

func goroutineProfile([]StackRecord, []*LabelSet) (int, bool) { panic(notLinked) }
