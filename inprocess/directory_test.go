// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/store"
)

func TestStartWithBadDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tp, _ := newTracerProvider(t)
	if p, err := inprocess.Start(tp, inprocess.WithStoreOptions(store.WithDirectory(file, 16<<20))); err == nil || p != nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Start: %v, want an error that names %s", err, file)
	}
}
