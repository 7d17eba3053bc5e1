// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "github.com/spanprof/spanprof/internal/spanlabels"

// ReadsGoroutineLabels reports whether the labels of goroutines can be read.
func ReadsGoroutineLabels() bool { return spanlabels.Unknown() == nil }
