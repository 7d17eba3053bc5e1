// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package sdkspan reads spans of the OpenTelemetry SDK without their methods: fields that are
// not exported, at their places in memory.
//
// The SDK gives span processors a snapshot of a span that ended. Each method of a snapshot
// copies all of it, some 400 bytes: to ask it everything that a record needs takes as long as
// making the record. A span that starts takes its lock in each method.
//
// The package reads a type only if all of this holds, and its callers use the methods of any
// other span:
//
//   - it is the SDK's own type, by its name and the path of its package;
//   - it has all fields that are read, with the names and types that are known;
//   - the fields of the first span that came were what its methods said.
//
// The first span decides for as long as the process runs. By the build tag purego no span is
// read in place.
//
// All of it is safe for concurrent use. The SDK changes neither a snapshot nor the fields of a
// started span that are read here, so that no lock is needed. Accessors have the names of the
// SDK's methods. What they return is the span's own memory: callers do not write to it.
package sdkspan

import (
	"reflect"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// isOfSDK reports whether a type is a pointer to the SDK's type of that name, and types may be
// read in place.
func isOfSDK(t reflect.Type, name string) bool {
	return InPlace && t != nil && t.Kind() == reflect.Pointer && t.Elem().Name() == name && t.Elem().PkgPath() == reflect.TypeFor[sdktrace.Event]().PkgPath()
}

// fieldsOf are the fields that a struct is to have, by name.
type fieldsOf map[string]struct {
	of     reflect.Type
	offset *uintptr
}

// find sets the offsets in what t points to, and reports whether all fields are there.
func (f fieldsOf) find(t reflect.Type) bool {
	if t.Elem().Kind() != reflect.Struct {
		return false
	}
	for name, want := range f {
		field, ok := t.Elem().FieldByName(name)
		if !ok || field.Type != want.of || len(field.Index) != 1 {
			return false
		}
		*want.offset = field.Offset
	}
	return true
}

// field returns the field at an offset in what p points to.
func field[T any](p unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(p, offset)) }
