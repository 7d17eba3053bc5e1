// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package wall

import (
	"syscall"
	"time"
)

var systemCalls = map[string]wait{
	// The leaf has a different name on each system.
	"syscall": {readSlowly, "", "syscall.Read"},
}

// readSlowly blocks in a system call outside the runtime's netpoller.
func readSlowly(d time.Duration) {
	var ends [2]int
	if syscall.Pipe(ends[:]) != nil {
		return
	}
	time.AfterFunc(d, func() { _ = syscall.Close(ends[1]) })
	_, _ = syscall.Read(ends[0], make([]byte, 1))
	_ = syscall.Close(ends[0])
}
