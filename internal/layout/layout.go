// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout compares types by how their values lie in memory, for those who
// read what another package keeps unexported.
package layout

import "reflect"

// Same reports whether two types of strings, slices and structs are made of the
// same parts, whatever the names of types and fields. It does not look into others.
func Same(a, b reflect.Type) bool {
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
		return Same(a.Elem(), b.Elem())
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			if !Same(a.Field(i).Type, b.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return a.Kind() == reflect.String
	}
}
