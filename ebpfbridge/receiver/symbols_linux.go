// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path"
	"strings"
)

// readMapped returns the functions of a file that this process has mapped, or nil.
func readMapped(want file) table {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	executable, _ := os.Readlink("/proc/self/exe")
	executable = strings.TrimSuffix(executable, " (deleted)")
	tried := ""
	for line := range strings.Lines(string(maps)) {
		// address perms offset dev inode name
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] == tried {
			continue
		}
		name := fields[5]
		var t table
		switch {
		case name == "[vdso]" && strings.Contains(want.base, "vdso"):
			t = want.readMemory(fields[0])
		case path.Base(name) != want.base || name[0] != '/':
		case name == executable:
			t = want.readFile("/proc/self/exe") // also where it has been replaced since
		default:
			t = want.readFile(name)
		}
		if t != nil {
			return t
		}
		tried = name
	}
	return nil
}

func (want file) readFile(name string) table {
	f, err := elf.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	return want.functions(f)
}

// readMemory reads an ELF file that is only in this process's memory.
func (want file) readMemory(addresses string) table {
	var start, end uint64
	if _, err := fmt.Sscanf(addresses, "%x-%x", &start, &end); err != nil || end-start > 1<<20 {
		return nil
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil
	}
	defer func() { _ = memory.Close() }()
	b := make([]byte, end-start)
	if _, err := memory.ReadAt(b, int64(start)); err != nil {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return want.functions(f)
}
