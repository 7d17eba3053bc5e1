// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package spanprof

import (
	"reflect"
	"testing"

	"github.com/spanprof/spanprof/internal/layout"
)

// A label set of another layout is noticed, and then the public API is used.
func TestLayout(t *testing.T) {
	if !knowsLayout() {
		t.Error("the layout of this Go version's label sets is not known")
	}
	known := reflect.TypeFor[labelMap]()
	for _, test := range []struct {
		layout reflect.Type
		want   bool
	}{
		{reflect.TypeFor[labelMap](), true},
		{reflect.TypeFor[struct {
			Set struct{ List []struct{ K, V string } }
		}](), true},
		{reflect.TypeFor[[]label](), true}, // a struct of one field lies in memory as the field does
		{reflect.TypeFor[map[string]string](), false},
		{reflect.TypeFor[struct{ list []string }](), false},
		{reflect.TypeFor[struct{ list []struct{ k, v, w string } }](), false},
		{reflect.TypeFor[struct {
			list []struct {
				k string
				v int
			}
		}](), false},
		{reflect.TypeFor[struct {
			hash uint64
			list []label
		}](), false},
		{reflect.TypeFor[struct{ list *[]label }](), false},
	} {
		if got := layout.Same(test.layout, known); got != test.want {
			t.Errorf("layout.Same(%v) = %t, want %t", test.layout, got, test.want)
		}
	}
}
