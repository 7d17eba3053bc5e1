// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// Starts succeed while another process removes files.
func TestSpillStartsWhileFilesGo(t *testing.T) {
	dir := t.TempDir()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i = (i + 1) % 100 {
			select {
			case <-stop:
				return
			default:
			}
			name := filepath.Join(dir, fmt.Sprintf("%019d-x.spanprof", i))
			_ = os.WriteFile(name, nil, 0o600)
			_ = os.Remove(name)
		}
	}()
	reports(t)
	for range 100 {
		// What it says of the files that it found in time does not matter.
		_ = newQueue(t, new(destination), exporter.WithSpill(dir)).Shutdown(t.Context())
	}
	close(stop)
	<-done
}

// A process that is killed in the middle of its work loses nothing.
func TestSpillSurvivesKill(t *testing.T) {
	const variable = "SPANPROF_TEST_SPILL_DIR"
	if dir := os.Getenv(variable); dir != "" {
		sending := make(chan struct{})
		q := newQueue(t, &destination{send: func(ctx context.Context, _ string) error {
			close(sending)
			<-ctx.Done()
			return ctx.Err()
		}}, exporter.WithSpill(dir), exporter.WithTimeout(time.Hour))
		export(t, q, "0")
		<-sending
		for i := 1; ; i++ {
			export(t, q, strconv.Itoa(i))
			fmt.Println("exported", i)
		}
	}

	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSpillSurvivesKill$")
	child.Env = append(os.Environ(), variable+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := -1
	for last < 100 {
		if _, err := fmt.Fscanf(out, "exported %d\n", &last); err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	d := new(destination)
	q := newQueue(t, d, exporter.WithSpill(dir))
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	shutdown(t, q)
	taken := map[string]bool{}
	for _, name := range d.names() {
		taken[name] = true
	}
	for i := range last + 1 {
		if !taken[strconv.Itoa(i)] {
			t.Errorf("profile %d is lost", i)
		}
	}
	if got := q.Stats(); got.Dropped() != 0 || got.Duplicates != 1 {
		t.Errorf("Stats %+v, want one duplicate, of the attempt that was killed", got)
	}
	// What was being written when it was killed stays for a minute.
	left := slices.DeleteFunc(files(t, dir), func(name string) bool { return strings.HasSuffix(name, ".tmp") })
	if len(left) > 0 {
		t.Errorf("files %v, want none", left)
	}
}
