// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// readMappedOf returns the functions of a file that a process has mapped, or nil.
// denied says that this program may not look.
func readMappedOf(pid int64, want file) (t table, denied bool) {
	if pid <= 0 {
		return nil, false
	}
	if strings.Contains(want.base, "vdso") {
		return readMapped(want), false // all processes have the same
	}
	proc := fmt.Sprintf("/proc/%d/", pid)
	maps, err := os.ReadFile(proc + "maps")
	if err != nil {
		return nil, errors.Is(err, fs.ErrPermission)
	}
	root, err := os.OpenRoot(proc + "root")
	if err != nil {
		return nil, errors.Is(err, fs.ErrPermission)
	}
	defer func() { _ = root.Close() }()
	tried := ""
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] == tried || path.Base(fields[5]) != want.base || fields[5][0] != '/' {
			continue
		}
		tried = fields[5]
		if t := want.readIn(root, strings.TrimPrefix(tried, "/")); t != nil {
			return t, false
		}
	}
	return nil, false
}

// readIn reads a file below the root of a process, which may have put anything there
// since: a pipe does not block, and a link does not lead out.
func (want file) readIn(root *os.Root, name string) table {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	parsed, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	return want.functions(parsed)
}
