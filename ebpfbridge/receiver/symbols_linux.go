// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// maxMaps bounds what is read of a process's list of mappings: some 80,000 of usual length.
const maxMaps = 8 << 20

// readMapped returns the functions of a file that a process has mapped, or none. denied is
// whether this program may not read it.
func readMapped(pid int64, want file) (t table, denied bool) {
	proc, isVDSO := fmt.Sprintf("/proc/%d/", pid), strings.Contains(want.base, "vdso")
	if isVDSO {
		proc = "/proc/self/" // all processes have the same
	}
	f, err := os.Open(proc + "maps")
	if err != nil {
		return table{}, errors.Is(err, fs.ErrPermission)
	}
	maps, err := io.ReadAll(io.LimitReader(f, maxMaps))
	_ = f.Close()
	if err != nil {
		return table{}, errors.Is(err, fs.ErrPermission)
	}
	root, err := os.OpenRoot(proc + "root")
	if err != nil {
		return table{}, errors.Is(err, fs.ErrPermission)
	}
	defer func() { _ = root.Close() }()
	executable, _ := os.Readlink(proc + "exe")
	executable = strings.TrimSuffix(executable, " (deleted)")
	tried := ""
	for line := range strings.Lines(string(maps)) {
		// address perms offset dev inode name
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] == tried {
			continue
		}
		tried = fields[5]
		switch {
		case tried == "[vdso]" && isVDSO:
			t = want.readMemory(fields[0])
		case path.Base(tried) != want.base || tried[0] != '/':
		case tried == executable:
			t = want.readFile(os.Open(proc + "exe")) // also if it was replaced
		default:
			t = want.readIn(root, strings.TrimPrefix(tried, "/"))
		}
		if len(t.functions) > 0 {
			return t, false
		}
	}
	return table{}, false
}

// readIn reads a file below the root of a process. The process may have put anything
// there: a pipe does not block, and a link does not lead out.
func (want file) readIn(root *os.Root, name string) table {
	return want.readFile(root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func (want file) readFile(f *os.File, err error) table {
	if err != nil {
		return table{}
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return table{}
	}
	return want.read(f)
}

// readMemory reads an ELF file that is only in this process's memory.
func (want file) readMemory(addresses string) table {
	var start, end uint64
	if _, err := fmt.Sscanf(addresses, "%x-%x", &start, &end); err != nil {
		return table{}
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return table{}
	}
	defer func() { _ = memory.Close() }()
	return want.read(io.NewSectionReader(memory, int64(start), int64(end-start)))
}
