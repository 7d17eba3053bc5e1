// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"reflect"
	"runtime"
	"runtime/pprof"
)

// leaf is how many addresses of a stack are looked at: between StopCPUProfile and
// the runtime, where it waits, there are six at most.
const leaf = 16

// stopping reports whether somebody is in a call of StopCPUProfile.
func stopping() bool {
	var records []runtime.StackRecord
	for n, ok := runtime.NumGoroutine(), false; !ok; {
		n += n/4 + 10 // others start meanwhile
		records = make([]runtime.StackRecord, n)
		if n, ok = runtime.GoroutineProfile(records); ok {
			records = records[:n]
		}
	}
	entry := reflect.ValueOf(pprof.StopCPUProfile).Pointer()
	seen := make(map[uintptr]bool) // many goroutines wait at the same places
	for i := range records {
		stack := records[i].Stack()
		for _, pc := range stack[:min(len(stack), leaf)] {
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
