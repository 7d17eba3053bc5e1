// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package goruntime

import (
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"sync"
	"unsafe"

	"github.com/spanprof/spanprof/internal/contextkey"
	"github.com/spanprof/spanprof/internal/layout"
)

// What is linked here are functions that the runtime gives to runtime/pprof. All
// but goroutineProfile are promised to stay (https://go.dev/issue/67401). The
// rest that this file relies on:
//   - the layout of a label set, a slice of key and value, which Known verifies;
//   - nobody writes to a label set once it is made;
//   - the form of the records that ReadCPUProfile returns.

// GoroutineProfile stores the stacks and label sets of all goroutines if there is
// room, and reports how many there are. The stacks are allocated by the call.
func GoroutineProfile(records []StackRecord, labels []unsafe.Pointer) (n int, ok bool) {
	return goroutineProfile(records, labels)
}

// ReadCPUProfile waits for samples of the running CPU profile and returns them
// as records of length, time, count and stack, each with a label set. What it has
// returned is overwritten by the next call. When the profile has been stopped
// and all is read, it returns true. Only one goroutine may read.
func ReadCPUProfile() (records []uint64, labels []unsafe.Pointer, eof bool) { return readProfile() }

// ExpandFinalInlineFrame adds the callers that the last address of a truncated
// stack is inlined into. It may write to the array behind stack.
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { return expandFinalInlineFrame(stack) }

//go:linkname goroutineProfile runtime.pprof_goroutineProfileWithLabels
func goroutineProfile(records []StackRecord, labels []unsafe.Pointer) (n int, ok bool)

//go:linkname readProfile runtime/pprof.readProfile
func readProfile() ([]uint64, []unsafe.Pointer, bool)

//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stack []uintptr) []uintptr

//go:linkname frameName runtime/pprof.runtime_FrameSymbolName
func frameName(f *runtime.Frame) string

//go:linkname frameStartLine runtime/pprof.runtime_FrameStartLine
func frameStartLine(f *runtime.Frame) int

// symbolize returns what is at a return address of a stack. Functions are named as
// profiles name them: with the types of a generic one.
func symbolize(pc uintptr) (found symbol) {
	callers := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var f runtime.Frame
		f, more = callers.Next()
		if f.PC != 0 && f.Function != "" {
			found.frames = append(found.frames, Frame{frameName(&f), f.File, int64(f.Line), int64(frameStartLine(&f))})
			found.entry, found.inlined = f.Entry, f.Func == nil
		}
	}
	return found
}

// labelMap is runtime/pprof's labelMap.
type labelMap struct{ list []Label }

// Labels returns the labels of a set, which may be nil. They must not be changed.
func Labels(set unsafe.Pointer) []Label {
	if set == nil {
		return nil
	}
	return (*labelMap)(set).list
}

// Known reports whether a label set which runtime/pprof made has the layout
// that Labels expects.
var Known = sync.OnceValue(func() bool {
	key := contextkey.Asked(func(ctx context.Context) { pprof.Label(ctx, "") })
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("a", "1", "b", "2"))
	made := reflect.ValueOf(ctx.Value(key))
	if made.Kind() != reflect.Pointer || made.IsNil() || !layout.Same(made.Type().Elem(), reflect.TypeFor[labelMap]()) {
		return false
	}
	list := Labels(made.UnsafePointer())
	return len(list) == 2 && list[0] == Label{"a", "1"} && list[1] == Label{"b", "2"}
})
