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

// find returns the key of a file that a process has mapped, or "".
func (s *symbols) find(want processFile) string {
	proc, isVDSO := fmt.Sprintf("/proc/%d/", want.pid), strings.Contains(want.base, "vdso")
	if isVDSO {
		proc = "/proc/self/" // all processes have the same
	}
	f, err := os.Open(proc + "maps")
	if err != nil {
		s.unreadable = s.unreadable || errors.Is(err, fs.ErrPermission)
		return ""
	}
	maps, _ := io.ReadAll(io.LimitReader(f, maxMaps))
	_ = f.Close()
	s.count(want.pid, len(maps))
	root, err := os.OpenRoot(proc + "root") // needs the same permission
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	executable, _ := os.Readlink(proc + "exe")
	executable = strings.TrimSuffix(executable, " (deleted)")
	seen := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		// address perms offset dev inode name
		fields := strings.Fields(line)
		if len(fields) < 6 || seen[fields[5]] {
			continue
		}
		key, name := "", fields[5]
		switch {
		case name == "[vdso]" && isVDSO:
			key = s.addMemory(want, fields[0])
		case path.Base(name) != want.base || name[0] != '/':
			continue
		case len(seen) == maxFiles:
			s.unreadable = true
			return ""
		case name == executable:
			f, err := os.Open(proc + "exe") // also if it was replaced
			key = s.addFile(want, f, err)
		default:
			key = s.addIn(want, root, strings.TrimPrefix(name, "/"))
		}
		if key != "" {
			return key
		}
		seen[name] = true
	}
	return ""
}

// addIn adds a file below the root of a process. The process may have put anything there:
// a pipe does not block, and a link cannot escape.
func (s *symbols) addIn(want processFile, root *os.Root, name string) string {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return s.addFile(want, f, err)
}

func (s *symbols) addFile(want processFile, f *os.File, err error) string {
	if err != nil {
		s.unreadable = s.unreadable || errors.Is(err, fs.ErrPermission)
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	st := info.Sys().(*syscall.Stat_t) // inode numbers are reused: the time of change is not
	return s.add(fmt.Sprint(st.Dev, st.Ino, st.Ctim, want.buildID), want, f)
}

// addMemory adds an ELF file that is only in this process's memory.
func (s *symbols) addMemory(want processFile, addresses string) string {
	var start, end uint64
	_, _ = fmt.Sscanf(addresses, "%x-%x", &start, &end)
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return ""
	}
	defer func() { _ = memory.Close() }()
	return s.add("vDSO "+want.buildID, want, io.NewSectionReader(memory, int64(start), int64(end-start)))
}
