// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"cmp"
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
func (s *Symbolizer) find(want processFile) string {
	proc := fmt.Sprintf("/proc/%d/", want.pid)
	f, err := os.Open(proc + "maps")
	if err != nil {
		s.Unreadable = s.Unreadable || errors.Is(err, fs.ErrPermission)
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
		case path.Base(name) != want.base || name[0] != '/':
			continue
		case len(seen) == maxFiles:
			s.Unreadable = true
			return ""
		case name == executable:
			f, err := os.Open(proc + "exe") // also if it was replaced
			key = s.addFile(want, f, err)
		default:
			key = s.addIn(want, root, strings.TrimPrefix(name, "/"))
		}
		if key != "" {
			return cmp.Or(s.debugFile(want, root, s.files[key]), key)
		}
		seen[name] = true
	}
	return ""
}

// debugFile returns the key of the separate file with all symbols of a file, or "" if that
// has them itself. Distributions install it below the file's build id.
func (s *Symbolizer) debugFile(want processFile, root *os.Root, of table) string {
	if of.full || len(of.buildID) < 3 {
		return ""
	}
	want.buildID = of.buildID
	name := "usr/lib/debug/.build-id/" + of.buildID[:2] + "/" + of.buildID[2:] + ".debug"
	return s.addIn(want, root, name)
}

// addIn adds a file below the root of a process. The process may have put anything there:
// a pipe does not block, and a link cannot escape.
func (s *Symbolizer) addIn(want processFile, root *os.Root, name string) string {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return s.addFile(want, f, err)
}

func (s *Symbolizer) addFile(want processFile, f *os.File, err error) string {
	if err != nil {
		s.Unreadable = s.Unreadable || errors.Is(err, fs.ErrPermission)
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
