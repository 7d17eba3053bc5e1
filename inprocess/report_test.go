// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

func newReported(t *testing.T, path string) *Profiling {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	return &Profiling{store: s, handler: viewer.Handler(s), reportPath: path}
}

func TestReport(t *testing.T) {
	var b bytes.Buffer
	if err := newReported(t, "").WriteReport(&b); err != nil || !strings.Contains(b.String(), `id="frozen" data-page="./?order=slowest"`) {
		t.Errorf("error %v, report %.300s", err, b.String())
	}
}

// The file of the environment is private, and replaces another one.
func TestReportFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := newReported(t, path)
	if err := p.writeReportFile(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() < 1000 {
		t.Errorf("error %v, file %v", err, info)
	}
	p = newReported(t, filepath.Join(dir, "missing", "report.html"))
	if err := p.writeReportFile(t.Context()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "SPANPROF_REPORT") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newReported(t, path).writeReportFile(ctx); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("error %v of a report without time", err)
	}
}
