// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporttest reads what package report has given to otel.Handle.
package reporttest

import (
	"fmt"
	"strings"
)

// Times returns how many errors a reported one stands for: itself, and those like it
// that came within the minute.
func Times(text string) uint64 {
	i := strings.LastIndex(text, " (and ")
	if i < 0 {
		return 1
	}
	var more uint64
	_, _ = fmt.Sscanf(text[i:], " (and %d more like it", &more)
	return 1 + more
}
