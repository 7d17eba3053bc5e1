// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/pgo"
)

// The size of an executable does not matter, only what is read of it. Here the section
// headers are beyond a gigabyte of nothing.
func TestReadLargeExecutable(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	const at = 0x28 // the offset of the headers in an ELF file of 64 bits
	headers := data[binary.NativeEndian.Uint64(data[at:]):]
	binary.NativeEndian.PutUint64(data[at:], 1<<30)
	f, err := os.Create(filepath.Join(t.TempDir(), "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	_, err = f.Write(data)
	if _, errAt := f.WriteAt(headers, 1<<30); err != nil || errAt != nil {
		t.Fatal(err, errAt)
	}
	if e, err := pgo.ReadExecutable(f.Name()); err != nil || e.Package == "" {
		t.Errorf("got %v, %v", e, err)
	}
}
