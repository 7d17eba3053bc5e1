// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// functionTotal is what one function takes, itself and with what it called.
type functionTotal struct {
	self, total int64
	// lastStack is the number of the last stack that was counted, from 1.
	lastStack int
}
