// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (386 || amd64 || arm64) && !purego

package goruntime

// goroutine returns the address of the runtime's record of the calling goroutine: the g
// register of Go's assembler, or where the assembler has it in thread-local storage.
func goroutine() uintptr
