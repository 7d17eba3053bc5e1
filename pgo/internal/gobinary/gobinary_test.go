// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package gobinary_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/pgo/internal/gobinary"
)

func TestNotGo(t *testing.T) {
	path, err := exec.LookPath("ls")
	if err != nil {
		loudskip.Test(t, err.Error())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gobinary.Functions(bytes.NewReader(data)); !errors.Is(err, gobinary.ErrNoTable) && !errors.Is(err, gobinary.ErrNotExecutable) {
		t.Errorf("%s: %v", path, err)
	}
}

// Broken tables end nothing and take no memory.
func FuzzTable(f *testing.F) {
	table := gobinary.Table(binary.LittleEndian, 8, "main.main", "runtime.main")
	f.Add(table)
	f.Add(gobinary.Table(binary.BigEndian, 4, "main.main", "runtime.main"))
	f.Add(table[:20])
	f.Fuzz(func(_ *testing.T, data []byte) { gobinary.FindTable(data) })
}

func TestTable(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, size := range []int{4, 8} {
			data := append([]byte("\xf1\xff\xff\xff\xff\xff\xff\xf1 not here"), gobinary.Table(order, size, "main.main", "", "runtime.main")...)
			names := gobinary.FindTable(data)
			if _, ok := names["main.main"]; !ok || len(names) != 2 {
				t.Errorf("%v, words of %d bytes: got %v", order, size, names)
			}
		}
	}
	if names := gobinary.FindTable(gobinary.Table(binary.LittleEndian, 8, "main.main")); names != nil {
		t.Errorf("a table without the runtime: %v", names)
	}
}
