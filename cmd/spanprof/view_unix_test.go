// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A signal ends a command while it loads, here from a pipe that has nothing to read.
func TestInterruptedWhileLoading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, command := range []string{"view", "trace"} {
		var errs bytes.Buffer
		code := run(ctx, []string{command, pipe}, io.Discard, &errs)
		if code != exitFailed || !strings.HasPrefix(errs.String(), "spanprof: view: interrupted") && !strings.Contains(errs.String(), "canceled") {
			t.Errorf("%s: code %d: %s", command, code, errs.String())
		}
	}
}
