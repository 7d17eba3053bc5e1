// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cpulog

import "time"

// ProcessTime returns the CPU time of the process, and false if it is not known.
func ProcessTime() (time.Duration, bool) { return 0, false }
