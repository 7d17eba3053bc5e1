// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "github.com/spanprof/spanprof/internal/goruntime"

// ReadsGoroutineLabels reports whether the labels of goroutines can be read.
func ReadsGoroutineLabels() bool { return goruntime.Unknown() == nil }
