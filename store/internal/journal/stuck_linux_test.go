// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// As TestFilesThatCannotBeRemoved has it, with files that can be read: their samples of spans
// that outlive others are kept once.
func TestReadableFilesThatCannotBeRemoved(t *testing.T) {
	unmount := func(file string) error { return syscall.Unmount(file, 0) }
	mount := func(file string) error {
		err := syscall.Mount(file, file, "", syscall.MS_BIND, "")
		if err == nil {
			t.Cleanup(func() { _ = unmount(file) }) // where the test has failed
		}
		return err
	}
	probe := t.TempDir()
	if err := mount(probe); err != nil {
		loudskip.Test(t, "needs a file that cannot be removed, which only root can mount: "+err.Error())
	}
	if err := unmount(probe); err != nil {
		t.Fatal(err)
	}
	testStuck(t, mount, unmount)
}
