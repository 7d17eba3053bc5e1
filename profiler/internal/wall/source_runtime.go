// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package wall

import (
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"sync"
	"unsafe"

	"github.com/spanprof/spanprof/internal/layout"
)

var _ source = (*runtimeSource)(nil)

// runtimeSource takes a round by the function of the runtime that runtime/pprof
// makes its goroutine profile of: under 1 us for each goroutine, a tenth of what
// the public way costs.
//
// This is the one file of the package that reads what the runtime keeps to
// itself. It relies on three things, for the Go versions in its build
// constraint:
//   - the signature of goroutineProfile, to which packages can link without a
//     flag, though nothing promises it (those of frameName and frameStartLine
//     are promised, go.dev/issue/67401);
//   - the layout of a label set, a slice of key and value, which knowsLayout
//     verifies; where it has changed, the publicSource takes over;
//   - nobody writes to a label set once it is made.
type runtimeSource struct {
	records []stackRecord
	labels  []unsafe.Pointer
	seen    map[uintptr][]frame // addresses asked for so far: bounded by the program's code
}

// stackRecord is the runtime's internal/profilerecord.StackRecord.
type stackRecord struct{ stack []uintptr }

// labelMap is runtime/pprof's labelMap.
type labelMap struct{ list []label }

// goroutineProfile stores the stacks and labels of all goroutines if there is
// room, and reports how many there are. The stacks are allocated by the call.
//
//go:linkname goroutineProfile runtime.pprof_goroutineProfileWithLabels
func goroutineProfile(records []stackRecord, labels []unsafe.Pointer) (n int, ok bool)

// frameName is what profiles call a function: with the types of a generic one.
//
//go:linkname frameName runtime/pprof.runtime_FrameSymbolName
func frameName(f *runtime.Frame) string

//go:linkname frameStartLine runtime/pprof.runtime_FrameStartLine
func frameStartLine(f *runtime.Frame) int

// newSource returns the fastest way for this Go version.
func newSource() source {
	if knowsLayout() {
		return newRuntimeSource()
	}
	return newPublicSource()
}

func newRuntimeSource() *runtimeSource {
	return &runtimeSource{seen: make(map[uintptr][]frame)}
}

func (*runtimeSource) name() string { return "runtime" }

func (*runtimeSource) priorCost() float64 { return 3000 }

func (s *runtimeSource) round(found func(stack []uintptr, labels []label, count int64)) error {
	n := s.fill()
	for i, r := range s.records[:n] {
		m := (*labelMap)(s.labels[i])
		if m != nil && len(r.stack) > 0 && ofSpan(m.list) {
			found(r.stack, m.list, 1)
		}
	}
	// The stacks and labels are garbage now, unless found has kept them.
	clear(s.records[:n])
	clear(s.labels[:n])
	return nil
}

// fill takes the profile, with room for goroutines that start meanwhile, and
// returns its length.
func (s *runtimeSource) fill() int {
	n, _ := goroutineProfile(nil, nil)
	for {
		if room := n + n/8 + 64; len(s.records) < n || len(s.records) > 4*room {
			s.records = make([]stackRecord, room)
			s.labels = make([]unsafe.Pointer, room)
		}
		var ok bool
		if n, ok = goroutineProfile(s.records, s.labels); ok {
			return n
		}
	}
}

func (s *runtimeSource) frames(pc uintptr) []frame {
	if frames, ok := s.seen[pc]; ok {
		return frames
	}
	var frames []frame
	callers := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var f runtime.Frame
		f, more = callers.Next()
		if f.PC != 0 && !silent(f.Function) {
			frames = append(frames, frame{frameName(&f), f.File, int64(f.Line), int64(frameStartLine(&f))})
		}
	}
	s.seen[pc] = frames
	return frames
}

// knowsLayout verifies that a label set which runtime/pprof made has the layout
// of labelMap.
var knowsLayout = sync.OnceValue(func() bool {
	asked := &askedContext{Context: context.Background()}
	pprof.Label(asked, "")
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("a", "1", "b", "2"))
	made := reflect.ValueOf(ctx.Value(asked.key))
	if made.Kind() != reflect.Pointer || made.IsNil() || !layout.Same(made.Type().Elem(), reflect.TypeFor[labelMap]()) {
		return false
	}
	list := (*labelMap)(made.UnsafePointer()).list
	return len(list) == 2 && list[0] == label{"a", "1"} && list[1] == label{"b", "2"}
})

// askedContext remembers the last key that it was asked for: that of
// runtime/pprof, which is unexported.
type askedContext struct {
	context.Context
	key any
}

func (c *askedContext) Value(key any) any {
	c.key = key
	return nil
}
