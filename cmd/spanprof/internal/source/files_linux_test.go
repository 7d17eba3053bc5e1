// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
)

// A directory that cannot be read is skipped, and the rest is read.
func TestUnreadableDirectory(t *testing.T) {
	dir := t.TempDir()
	cpu := made{types: cpuTypes, period: "cpu", values: []int64{1, 2}}.bytes(t)
	write(t, filepath.Join(dir, "a.pprof"), cpu)
	write(t, filepath.Join(dir, "z", "b.pprof"), cpu)
	if err := os.Mkdir(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	user := os.Geteuid()
	if user == 0 { // it may read all directories
		user = 12345
	}
	var errs []error
	for _, name := range []string{"", "a.pprof", "z", "z/b.pprof"} {
		errs = append(errs, os.Chown(filepath.Join(dir, name), user, -1))
	}
	t.Chdir(dir)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := errors.Join(append(errs, syscall.Setfsuid(user))...); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setfsuid(os.Geteuid()) }()
	s, err := source.Parse(".") // that user need not reach the directories above
	if err != nil {
		t.Fatal(err)
	}
	found, skipped := 0, 0
	err = s.Read(t.Context(), nil, func(error) { skipped++ }, func(*source.Profile) error { found++; return nil })
	if err != nil || found != 2 || skipped != 1 {
		t.Errorf("%d profiles, %d skipped, %v, want 2 and 1", found, skipped, err)
	}
}
