// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

// label is a goroutine label. It has the layout of runtime/pprof's.
type label struct{ key, value string }

// ofSpan reports whether one of the labels is what marks the work of a span.
func ofSpan(labels []label) bool {
	for i := range labels {
		switch labels[i].key {
		case "profile_id", "span_id", "span_name":
			return true
		}
	}
	return false
}
