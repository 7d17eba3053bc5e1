// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// executable is the file of this program and its hash, as eBPF agents compute it; the hash is empty where the file cannot be read.
type executable struct {
	path, hash string
}

// thisExecutable reads the program's file once.
var thisExecutable = sync.OnceValue(func() executable {
	path, err := os.Executable()
	if err != nil {
		return executable{}
	}
	file := path
	if runtime.GOOS == "linux" {
		// What runs, even if another file has taken its name by now.
		file = "/proc/self/exe"
	}
	hash, err := htlhashFile(file)
	if err != nil {
		return executable{}
	}
	return executable{path, hash}
})

func htlhashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return htlhash(f, info.Size())
}

// htlhash returns the hash of head, tail and length of a file, as the semantic
// convention of process.executable.build_id.htlhash defines it.
func htlhash(r io.ReaderAt, size int64) (string, error) {
	const part = 4096
	h := sha256.New()
	for _, offset := range []int64{0, max(size-part, 0)} {
		if _, err := io.Copy(h, io.NewSectionReader(r, offset, min(part, size))); err != nil {
			return "", fmt.Errorf("convert: hash executable: %w", err)
		}
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
