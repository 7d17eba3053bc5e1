// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

package goruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/pprof"
	"slices"
	"unsafe"
)

// verify checks this package's assumptions about labels against runtime/pprof. The other
// assumption is the form of the records of CPU samples. Their reader checks it, because
// that needs samples.
func verify() error {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("b", "2", "a", "1"))
	if err := verifyLayout(ctx.Value(LabelsKey)); err != nil {
		return err
	}
	set := ContextLabels(ctx)
	if set == nil || !slices.Equal(set.List, []Label{{"a", "1"}, {"b", "2"}}) {
		return errors.New("labels are not kept in a list, sorted by key")
	}
	defer SetLabels(GoroutineLabels())
	pprof.SetGoroutineLabels(ctx)
	if GoroutineLabels() != set {
		return errors.New("a goroutine does not carry the label set of a context")
	}
	return verifyOwn()
}

// verifyLayout checks the layout of a value that runtime/pprof stores in a context.
func verifyLayout(made any) error {
	t := reflect.TypeOf(made)
	if t == nil || t.Kind() != reflect.Pointer || !sameLayout(t.Elem(), reflect.TypeFor[LabelSet]()) {
		return fmt.Errorf("labels are kept as %v", t)
	}
	words := (*anyWords)(unsafe.Pointer(&made))
	if unsafe.Sizeof(made) != unsafe.Sizeof(*words) || words.data != reflect.ValueOf(made).UnsafePointer() {
		return errors.New("an interface is not a type and a pointer")
	}
	return nil
}

// sameLayout reports whether two types of strings, slices and structs consist of the same
// parts. Names of types and fields do not count. It does not look into other types.
func sameLayout(a, b reflect.Type) bool {
	// A struct of one field lies in memory as the field does.
	for a.Kind() == reflect.Struct && a.NumField() == 1 {
		a = a.Field(0).Type
	}
	for b.Kind() == reflect.Struct && b.NumField() == 1 {
		b = b.Field(0).Type
	}
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case reflect.Slice:
		return sameLayout(a.Elem(), b.Elem())
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			if !sameLayout(a.Field(i).Type, b.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return a.Kind() == reflect.String
	}
}

// verifyOwn checks that runtime/pprof reads a set made here, and leaves its mark
// unchanged.
func verifyOwn() error {
	owner := new(byte)
	list := append([]Label{{"a", "1"}}, Mark(owner))[:1]
	set := &LabelSet{list}
	ctx := context.WithValue(context.Background(), LabelsKey, ContextValue(set))
	pprof.SetGoroutineLabels(ctx)
	added := pprof.WithLabels(ctx, pprof.Labels("b", "2"))
	a, _ := pprof.Label(added, "a")
	b, _ := pprof.Label(added, "b")
	switch {
	case GoroutineLabels() != set || a != "1" || b != "2":
		return errors.New("runtime/pprof does not read a label set that it has not made")
	case Marked[byte](set) != owner || len(set.List) != 1 || set.List[0] != Label{"a", "1"}:
		return errors.New("runtime/pprof writes to label sets")
	case Marked[byte](ContextLabels(added)) != nil:
		return errors.New("runtime/pprof copies what is behind the labels of a set")
	}
	return nil
}
