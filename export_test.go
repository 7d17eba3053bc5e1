// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"runtime/debug"
	"slices"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// ReadsGoroutineLabels reports whether the labels of goroutines can be read.
func ReadsGoroutineLabels() bool { return goruntime.Unknown() == nil }

// RaceEnabled reports whether this is a build with the race detector.
func RaceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
