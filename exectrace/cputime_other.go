// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package exectrace

import "time"

// threadCPU returns the CPU time of the thread that calls it, and false where the operating
// system does not say.
func threadCPU() (time.Duration, bool) { return 0, false }
