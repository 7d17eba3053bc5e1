// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums_test

import (
	"fmt"
	"testing"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// Parents may form a circle, and a span in another process is no local child.
func TestEachBelow(t *testing.T) {
	span := func(id, parent string, root bool) store.Span {
		return store.Span{ProfileID: id, ParentID: parent, LocalRoot: root}
	}
	root := span("1", "3", false)
	trace := []store.Span{root, span("2", "1", false), span("3", "2", false), span("4", "1", true), span("5", "4", false), span("6", "9", false)}
	ids := func(spans []store.Span) (ids string) {
		for _, s := range spans {
			ids += fmt.Sprint(s.ProfileID)
		}
		return ids
	}
	for _, test := range []struct{ leaveOut, want string }{{"", "23"}, {"2", "2"}} {
		var visited []store.Span
		sums.EachBelow(root, trace, func(s store.Span) bool {
			visited = append(visited, s)
			return s.ProfileID != test.leaveOut
		})
		if got := ids(visited); got != test.want {
			t.Errorf("visited %s, want %s", got, test.want)
		}
	}
}
