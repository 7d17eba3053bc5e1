// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.26 || go1.28 || spanprof_public

package goruntime

import "unsafe"

const unknown = "goruntime: the internals of this Go version are not known"

// Known is false.
func Known() bool { return false }

// GoroutineProfile must not be called.
func GoroutineProfile([]StackRecord, []unsafe.Pointer) (int, bool) { panic(unknown) }

// ReadCPUProfile must not be called.
func ReadCPUProfile() ([]uint64, []unsafe.Pointer, bool) { panic(unknown) }

// ExpandFinalInlineFrame must not be called.
func ExpandFinalInlineFrame([]uintptr) []uintptr { panic(unknown) }

// Labels must not be called.
func Labels(unsafe.Pointer) []Label { panic(unknown) }

func symbolize(uintptr) symbol { panic(unknown) }
