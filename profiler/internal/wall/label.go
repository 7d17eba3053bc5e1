// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelkey"
)

type label = goruntime.Label

// ofSpan reports whether one of the labels is what marks the work of a span.
func ofSpan(labels []label) bool {
	for i := range labels {
		switch labels[i].Key {
		case labelkey.ProfileID, labelkey.SpanID, labelkey.SpanName:
			return true
		}
	}
	return false
}
