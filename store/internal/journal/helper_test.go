// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"testing"
)

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
