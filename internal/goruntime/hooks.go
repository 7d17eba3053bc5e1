// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (386 || amd64 || arm64) && !spanprof_public

package goruntime

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"unsafe"
)

// Each of the functions that are linked here has the runtime's promise in its
// comment, in Go 1.26 and 1.27.

// SetLabels makes s, which may be nil, what the calling goroutine carries.
//
//go:linkname SetLabels runtime/pprof.runtime_setProfLabel
func SetLabels(s *LabelSet)

// GoroutineLabels returns what the calling goroutine carries.
//
//go:linkname GoroutineLabels runtime/pprof.runtime_getProfLabel
func GoroutineLabels() *LabelSet

// Nanotime returns the nanoseconds since a moment before the program's start. Times in
// the records of ReadCPUProfile are on the same clock. It is positive.
//
//go:linkname Nanotime runtime.nanotime
func Nanotime() int64

// ReadCPUProfile waits for samples of the running CPU profile. Their records have
// length, time, count and stack, and each has a label set. The next call overwrites
// them. When the profile has been stopped and all is read, it returns true. Only one
// goroutine may read.
//
//go:linkname ReadCPUProfile runtime/pprof.readProfile
func ReadCPUProfile() (records []uint64, labels []*LabelSet, eof bool)

// ExpandFinalInlineFrame adds the callers that the last address of a truncated
// stack is inlined into. It may write to the array behind stack.
//
//go:linkname ExpandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func ExpandFinalInlineFrame(stack []uintptr) []uintptr

//go:linkname frameName runtime/pprof.runtime_FrameSymbolName
func frameName(f *runtime.Frame) string

//go:linkname frameStartLine runtime/pprof.runtime_FrameStartLine
func frameStartLine(f *runtime.Frame) int

// Goroutine returns a number that distinguishes the calling goroutine from others that run
// at the same time. It stays the same. The number of a goroutine that has ended may be
// reused for another one. Two goroutines may have the same number if their records in the
// runtime are 64 GiB apart.
func Goroutine() uint32 { return uint32(goroutine() >> unusedBits) }

// unusedBits are 0 in the address of a goroutine's record, which is aligned.
const unusedBits = 4

// goroutine returns the address of the runtime's record of the calling goroutine: the g
// register of Go's assembler, or where the assembler has it in thread-local storage.
func goroutine() uintptr

// anyWords is the layout of an any that holds a pointer.
type anyWords struct{ typ, data unsafe.Pointer }

// labelSetType is the type word of runtime/pprof's *labelMap.
var labelSetType = func() unsafe.Pointer {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("a", "1"))
	value := ctx.Value(LabelsKey)
	return (*anyWords)(unsafe.Pointer(&value)).typ
}()

// ContextLabels returns the labels that runtime/pprof finds in ctx.
func ContextLabels(ctx context.Context) *LabelSet {
	value := ctx.Value(LabelsKey)
	words := (*anyWords)(unsafe.Pointer(&value))
	if words.typ != labelSetType {
		return nil
	}
	return (*LabelSet)(words.data)
}

// ContextValue returns s as runtime/pprof keeps it in a context, under LabelsKey.
func ContextValue(s *LabelSet) (value any) {
	*(*anyWords)(unsafe.Pointer(&value)) = anyWords{labelSetType, unsafe.Pointer(s)}
	return value
}

// markKey is the key of marks: no other string has its address.
var markKey = strings.Clone("spanprof mark")

// Mark returns a label that leads from a LabelSet to its owner. It is put behind the
// last label, within the list's capacity but not its length. Code that copies labels
// does not copy it, so only the owner's list has a mark.
func Mark[T any](owner *T) Label {
	return Label{markKey, unsafe.String((*byte)(unsafe.Pointer(owner)), 1)}
}

// Marked returns the owner by the mark behind the labels of s, nil if there is none.
// All marks must be of the same type.
func Marked[T any](s *LabelSet) *T {
	if s == nil || cap(s.List) == len(s.List) {
		return nil
	}
	mark := &s.List[:len(s.List)+1][len(s.List)]
	if unsafe.StringData(mark.Key) != unsafe.StringData(markKey) {
		return nil
	}
	return (*T)(unsafe.Pointer(unsafe.StringData(mark.Value)))
}

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
