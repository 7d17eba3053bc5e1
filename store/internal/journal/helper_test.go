// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func closed(t *testing.T, j interface{ Close() error }) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// glob returns the files of all runs that match.
func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*-run-*", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sizeOf(t *testing.T, files []string) (n int64) {
	t.Helper()
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// unzippedLen returns how much is in a gzipped file.
func unzippedLen(t *testing.T, file string) int64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, f)
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, z)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func writeGzip(t *testing.T, file, text string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
