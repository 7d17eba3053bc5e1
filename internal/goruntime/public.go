// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build spanprof_public || !(386 || amd64 || arm64)

package goruntime

import (
	"context"
	"time"
)

func verify() error { return ErrPublic }

const notLinked = "goruntime: used although Unknown returns an error"

// The other functions must not be called.

func SetLabels(*LabelSet)        { panic(notLinked) }
func GoroutineLabels() *LabelSet { panic(notLinked) }

func ContextLabels(context.Context) *LabelSet          { panic(notLinked) }
func ContextValue(*LabelSet) any                       { panic(notLinked) }
func Mark[T any](*T) Label                             { panic(notLinked) }
func Marked[T any](*LabelSet) *T                       { panic(notLinked) }
func ReadCPUProfile() ([]uint64, []*LabelSet, bool)    { panic(notLinked) }
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { panic(notLinked) }
func Goroutine() uint32                                { panic(notLinked) }
func symbolize(uintptr) symbol                         { panic(notLinked) }

var started = time.Now()

// Nanotime returns the nanoseconds since the program's start.
func Nanotime() int64 { return int64(time.Since(started)) + 1 }
