// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import "time"

// measureWall calls f and returns the time that it took.
func measureWall(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
