// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"reflect"
	"runtime"
	"runtime/pprof"
	"unsafe"

	"github.com/spanprof/spanprof/profiler/internal/goruntime"
)

// leaf is how many addresses of a stack are looked at: between StopCPUProfile and
// the runtime, where it waits, there are six at most.
const leaf = 16

// stopping reports whether somebody is in a call of StopCPUProfile. It may be used
// if goruntime.Known.
func stopping() bool {
	var (
		records []goruntime.StackRecord
		labels  []unsafe.Pointer
	)
	for n, ok := runtime.NumGoroutine(), false; !ok; {
		n += n/4 + 10 // others start meanwhile
		records, labels = make([]goruntime.StackRecord, n), make([]unsafe.Pointer, n)
		if n, ok = goruntime.GoroutineProfile(records, labels); ok {
			records = records[:n]
		}
	}
	entry := reflect.ValueOf(pprof.StopCPUProfile).Pointer()
	seen := make(map[uintptr]bool) // many goroutines wait at the same places
	for _, r := range records {
		for _, pc := range r.Stack[:min(len(r.Stack), leaf)] {
			found, known := seen[pc]
			if !known {
				f := runtime.FuncForPC(pc - 1) // a return address
				found = f != nil && f.Entry() == entry
				seen[pc] = found
			}
			if found {
				return true
			}
		}
	}
	return false
}
