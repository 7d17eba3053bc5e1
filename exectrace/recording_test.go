// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"errors"
	"testing"
)

// A recording takes no more memory than WithMaxBytes allows.
func TestRecordingIsBounded(t *testing.T) {
	b := recording{most: 1000}
	for range 3 {
		if _, err := b.Write(bytes.Repeat([]byte("x"), 300)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Write(bytes.Repeat([]byte("x"), 300)); !errors.Is(err, errTooLarge) || b.Len() != 900 {
		t.Errorf("error %v, and %d bytes are kept, want 900", err, b.Len())
	}
}
