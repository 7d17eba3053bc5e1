// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package spanprof

import (
	"context"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/spanprof/spanprof/internal/layout"
)

// This is the one file that uses unsafe and linkname. It relies on three things,
// for the Go versions in its build constraint:
//   - the two functions by which runtime/pprof reads and writes the labels of the
//     running goroutine, which the runtime keeps for packages that link to them
//     (go.dev/issue/67401);
//   - the layout of runtime/pprof's label set, a slice of key and value sorted by
//     key, which knowsLayout verifies; where it has changed, the publicLabeler
//     takes over;
//   - nobody writes to a label set once it is made.

//go:linkname setGoroutineLabels runtime/pprof.runtime_setProfLabel
func setGoroutineLabels(m *labelMap)

//go:linkname goroutineLabels runtime/pprof.runtime_getProfLabel
func goroutineLabels() *labelMap

// knowsLayout verifies that a label set which runtime/pprof made has the
// layout of labelMap.
var knowsLayout = sync.OnceValue(func() bool {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("a", "1", "b", "2"))
	value := ctx.Value(pprofLabelsKey)
	t := reflect.TypeOf(value)
	if t == nil || t.Kind() != reflect.Pointer || !layout.Same(t.Elem(), reflect.TypeFor[labelMap]()) {
		return false
	}
	made := (*labelMap)((*anyWords)(unsafe.Pointer(&value)).data)
	return slices.Equal(made.list, []label{{"a", "1"}, {"b", "2"}})
})

// anyWords is the layout of an any that holds a pointer.
type anyWords struct{ typ, data unsafe.Pointer }

// labelMapType is the type word of runtime/pprof's *labelMap.
var labelMapType = func() unsafe.Pointer {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("a", "1"))
	value := ctx.Value(pprofLabelsKey)
	return (*anyWords)(unsafe.Pointer(&value)).typ
}()

// asContextValue returns m as runtime/pprof keeps label sets in a context.
func asContextValue(m *labelMap) (value any) {
	*(*anyWords)(unsafe.Pointer(&value)) = anyWords{labelMapType, unsafe.Pointer(m)}
	return value
}

// contextLabels returns the labels that runtime/pprof finds in ctx.
func contextLabels(ctx context.Context) *labelMap {
	value := ctx.Value(pprofLabelsKey)
	words := (*anyWords)(unsafe.Pointer(&value))
	if words.typ != labelMapType {
		return nil
	}
	return (*labelMap)(words.data)
}

// markKey marks the lists of labels that were made here. The mark is a label
// behind the last one, within the slice's capacity but not its length. Code that
// copies labels does not copy it, so a list with the mark is the list that was
// made here, and the mark's value points at its block.
var markKey = strings.Clone("spanprof mark")

func (b *labelBlock) mark() label {
	return label{markKey, unsafe.String((*byte)(unsafe.Pointer(b)), 1)}
}

// blockOf returns the block that m belongs to, nil if m was not made here.
func blockOf(m *labelMap) *labelBlock {
	if m == nil || cap(m.list) == len(m.list) {
		return nil
	}
	mark := &m.list[:len(m.list)+1][len(m.list)]
	if unsafe.StringData(mark.Key) != unsafe.StringData(markKey) {
		return nil
	}
	return (*labelBlock)(unsafe.Pointer(unsafe.StringData(mark.Value)))
}

// liveSet is live for sets that other goroutines carry.
func liveSet(set unsafe.Pointer) unsafe.Pointer {
	return unsafe.Pointer(live((*labelMap)(set)))
}

// ids returns the hex digits of an origin.
func (b *labelBlock) ids() string { return unsafe.String(&b.hex[0], hexIDsLen) }
