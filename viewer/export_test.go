// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "net/http"

// Fill takes all places of a handler for graphs.
func Fill(h http.Handler) {
	gate := h.(*handler).program.Gate
	for range cap(gate) {
		gate <- struct{}{}
	}
}
