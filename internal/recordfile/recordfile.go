// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package recordfile keeps a record in a file for a later process. Read returns
// exactly what was written, or an error if the file is damaged.
//
// A record is a description and a body. The file begins with a line that has the
// version of the format, a checksum and the two lengths:
//
//	spanprof 1 0123abcd 320 48213
//
// The checksum is CRC-32C. It finds every change of up to three bits and every
// run of up to 32 changed bits. It covers the rest of the line, the description and
// the body.
package recordfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
)

const (
	magic   = "spanprof "
	version = 1
	// maxLine is more than the first line of any record has.
	maxLine = 80
)

// MaxBytes bounds the files that Read accepts.
const MaxBytes = 256 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// DamagedError is returned by Read if a file does not hold a whole record. It is
// permanent, as fs.ErrNotExist is. Other errors of Read may pass.
type DamagedError struct {
	File   string
	Reason string
}

func (e *DamagedError) Error() string { return e.File + " is damaged: " + e.Reason }

// Write makes the file name in dir, as a whole or not at all, and returns its
// size.
func Write(dir, name string, description, body []byte, durability atomicfile.Durability) (size int64, err error) {
	lengths := fmt.Sprintf("%d %d\n", len(description), len(body))
	sum := checksum([]byte(lengths), description, body)
	line := fmt.Sprintf("%s%d %08x %s", magic, version, sum, lengths)
	if err := atomicfile.Write(dir, name, durability, []byte(line), description, body); err != nil {
		return 0, err
	}
	return int64(len(line) + len(description) + len(body)), nil
}

// Read returns what Write has written. A file that is not regular or has more than
// MaxBytes is a [DamagedError] too.
func Read(file string) (description, body []byte, err error) {
	damaged := func(format string, args ...any) ([]byte, []byte, error) {
		return nil, nil, &DamagedError{file, fmt.Sprintf(format, args...)}
	}
	data, err := files.Read(file, files.NoFollow, MaxBytes)
	if errors.Is(err, files.ErrRefused) {
		return damaged("%v", err)
	}
	if err != nil {
		return nil, nil, err
	}
	end := bytes.IndexByte(data[:min(len(data), maxLine)], '\n')
	if end < 0 || !bytes.HasPrefix(data, []byte(magic)) {
		return damaged("it does not begin as a record does")
	}
	var (
		v, sum              uint32
		nDescription, nBody int
	)
	line := string(data[:end+1])
	if n, _ := fmt.Sscanf(line, magic+"%d %08x %d %d\n", &v, &sum, &nDescription, &nBody); n < 1 {
		return damaged("its first line is %q", line)
	}
	if v != version {
		return damaged("it has format %d, this program reads %d", v, version)
	}
	rest := data[end+1:]
	lengths := fmt.Sprintf("%d %d\n", nDescription, nBody)
	if line != fmt.Sprintf("%s%d %08x %s", magic, version, sum, lengths) {
		return damaged("its first line is %q", line)
	}
	if nDescription < 0 || nBody < 0 || nDescription > len(rest) || nBody != len(rest)-nDescription {
		return damaged("it has %d bytes after its first line, want %d and %d", len(rest), nDescription, nBody)
	}
	if checksum([]byte(lengths), rest) != sum {
		return damaged("its checksum does not fit")
	}
	return rest[:nDescription:nDescription], rest[nDescription:], nil
}

func checksum(parts ...[]byte) (sum uint32) {
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum
}

// damagedSuffix ends the names of files that were set aside.
const damagedSuffix = ".damaged"

// SetAside renames a file, so that nobody takes it for a record again, and returns
// its new name. That it is gone already is no error.
func SetAside(file string) (string, error) {
	err := os.Rename(file, file+damagedSuffix)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return file + damagedSuffix, nil
}
