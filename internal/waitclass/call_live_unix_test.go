// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package waitclass_test

import (
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/internal/waitclass"
)

// waitInCall has a goroutine wait in a call of the system until end is called.
func waitInCall(t *testing.T, run func(string, waitclass.Class, func())) (end func()) {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	run("call", waitclass.Syscall, func() {
		_, _ = syscall.Read(ends[0], make([]byte, 1))
		_ = syscall.Close(ends[0])
	})
	return func() { _ = syscall.Close(ends[1]) }
}
