// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build purego || !(386 || amd64 || arm64)

package goruntime

import (
	"runtime"
	"sync"
)

var traces = sync.Pool{New: func() any { return new([32]byte) }}

// goroutine returns the number in the first line of the goroutine's stack trace,
// "goroutine 18 [running]:". That takes microseconds.
func goroutine() uintptr {
	trace := traces.Get().(*[32]byte)
	defer traces.Put(trace)
	var n uintptr
	for _, c := range trace[len("goroutine "):runtime.Stack(trace[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uintptr(c-'0')
	}
	return n << unusedBits
}
