// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"iter"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// unnamedChild stands for the name of a child that has none.
const unnamedChild = "(unnamed)"

// attributes returns the attributes of a record, and whether others were left out.
func (m *moment) attributes(r *spanlog.Record) (list []Attribute, omitted bool) {
	for e := range m.spans.Attributes(r) {
		if e.More {
			omitted = true
			continue
		}
		a := Attribute{Key: e.Key, Value: e.Value}
		if e.OfChild {
			a.Child = cmp.Or(e.Child, unnamedChild)
		}
		list = append(list, a)
	}
	return list, omitted
}

// valuesOf returns the values of one key, and whether any is that of a child.
func valuesOf(entries iter.Seq[attributes.Entry], key string) (values []string, ofChild bool) {
	for e := range entries {
		if !e.More && e.Key == key {
			values = append(values, e.Value)
			ofChild = ofChild || e.OfChild
		}
	}
	return values, ofChild
}
