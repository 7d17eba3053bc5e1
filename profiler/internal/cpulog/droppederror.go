// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import "fmt"

// DroppedError says how many samples are in no profile because there were too many
// different ones.
type DroppedError struct{ Samples int64 }

func (e *DroppedError) Error() string {
	return fmt.Sprintf("cpu samples: %d are in no profile: there were %d different ones already", e.Samples, maxEntries)
}
