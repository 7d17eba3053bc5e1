// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build spanprof_public

package goruntime

import (
	"context"
	"time"
)

func verify() error { return ErrPublic }

// SetLabels must not be called.
func SetLabels(*LabelSet) { panic(notLinked) }

// GoroutineLabels must not be called.
func GoroutineLabels() *LabelSet { panic(notLinked) }

var started = time.Now()

// Nanotime returns the nanoseconds since the program's start.
func Nanotime() int64 { return int64(time.Since(started)) + 1 }

// ContextLabels must not be called.
func ContextLabels(context.Context) *LabelSet { panic(notLinked) }

// ContextValue must not be called.
func ContextValue(*LabelSet) any { panic(notLinked) }

// Mark must not be called.
func Mark[T any](*T) Label { panic(notLinked) }

// Marked must not be called.
func Marked[T any](*LabelSet) *T { panic(notLinked) }

// ReadCPUProfile must not be called.
func ReadCPUProfile() ([]uint64, []*LabelSet, bool) { panic(notLinked) }

// ExpandFinalInlineFrame must not be called.
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { panic(notLinked) }

func symbolize(uintptr) symbol { panic(notLinked) }
