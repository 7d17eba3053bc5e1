// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (386 || amd64 || arm64) && !spanprof_public

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

// verifyLayout checks the layout of a value that runtime/pprof stores in a context: a pointer to
// a slice of two strings each, in any structs of one field.
func verifyLayout(made any) error {
	t := reflect.TypeOf(made)
	if t == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("labels are kept as %v", t)
	}
	list := t.Elem()
	for list.Kind() == reflect.Struct && list.NumField() == 1 {
		list = list.Field(0).Type
	}
	if list.Kind() != reflect.Slice || !isLabel(list.Elem()) {
		return fmt.Errorf("labels are kept as %v", t)
	}
	words := (*anyWords)(unsafe.Pointer(&made))
	if unsafe.Sizeof(made) != unsafe.Sizeof(*words) || words.data != reflect.ValueOf(made).UnsafePointer() {
		return errors.New("an interface is not a type and a pointer")
	}
	return nil
}

func isLabel(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 2 && t.Field(0).Type.Kind() == reflect.String && t.Field(1).Type.Kind() == reflect.String
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
