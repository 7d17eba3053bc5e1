// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cpulog

import "sync/atomic"

// canPoke says that poke makes a record.
const canPoke = false

func poke() bool { return false }

func fill(*atomic.Bool) {}
