// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package wall

import (
	"syscall"
	"time"
)

func init() { outsideOfBubbles["syscall.Read"] = readSlowly }

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
