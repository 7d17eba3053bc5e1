// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// poster is a destination across a socket.
type poster string

func (p poster) Send(ctx context.Context, profile *exporter.Profile) error {
	data, err := profile.Pprof()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(p), strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return &exporter.RetryError{Err: err}
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return &exporter.RetryError{Err: errors.New(answer.Status), Refused: true}
	}
	return nil
}

func (poster) Shutdown(context.Context) error {
	http.DefaultClient.CloseIdleConnections()
	return nil
}

// Thirty processes are killed while they export or send, with the backend down, or
// up and down all the time: everything that an Export has returned for is delivered.
func TestSpillSurvivesKills(t *testing.T) {
	const child = "SPANPROF_TEST_KILLED"
	if arg := os.Getenv(child); arg != "" {
		dir, round, _ := strings.Cut(arg, " ")
		round, url, _ := strings.Cut(round, " ")
		q := newQueue(t, poster(url), exporter.WithSpill(dir))
		for i := range 60 {
			name := fmt.Sprintf("%s/%d", round, i)
			export(t, q, name)
			fmt.Println(name)
		}
		<-t.Context().Done() // never
	}
	for _, flapping := range []bool{false, true} {
		t.Run(fmt.Sprintf("flapping=%t", flapping), func(t *testing.T) {
			var (
				up, requests atomic.Int64
				mu           sync.Mutex
				taken        = map[string]int{}
			)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				name, err := io.ReadAll(r.Body)
				if err != nil || up.Load() == 0 && (!flapping || requests.Add(1)%3 != 0) {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				taken[string(name)]++
			}))
			defer server.Close()

			dir := t.TempDir()
			var exported []string
			for round := range 30 {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSpillSurvivesKills$")
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", child, dir, round, server.URL))
				exported = append(exported, killed(t, cmd, 1+rand.IntN(40), func() {
					if round > 0 {
						return
					}
					_, err := exporter.NewQueue("test", poster(server.URL), exporter.WithSpill(dir))
					if err == nil || !strings.Contains(err.Error(), "in use already: name another one for each queue") {
						t.Errorf("a second process on the directory: %v", err)
					}
				})...)
			}

			up.Store(1)
			q := newQueue(t, poster(server.URL), exporter.WithSpill(dir))
			if err := q.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			shutdown(t, q)
			lost := slices.DeleteFunc(slices.Clone(exported), func(name string) bool { return taken[name] > 0 })
			t.Logf("%d exported by 30 processes, %d lost; the last one: %v", len(exported), len(lost), q.Stats())
			if s := q.Stats(); len(lost) > 0 || s.Dropped() != 0 || s.Exported != s.Taken {
				t.Errorf("lost %q; Stats %+v", lost, s)
			}
		})
	}
}

// killed runs a process until it has printed n lines, calls back, and kills it. It
// returns the lines, which it may have printed more of.
func killed(t *testing.T, cmd *exec.Cmd, n int, before func()) (lines []string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line string
	for range n {
		if _, err := fmt.Fscanln(out, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	before()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for whole := range strings.Lines(string(rest)) {
		if strings.HasSuffix(whole, "\n") {
			lines = append(lines, strings.TrimSpace(whole))
		}
	}
	return lines
}

// One bit of each of four hundred files is another one; four hundred are intact. None is
// delivered changed, none that is intact is lost, and the damaged ones stay.
func TestSpillWithFlippedBits(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	const n = 400
	want := map[string]bool{}
	var names []string
	for i := range 2 * n {
		names = append(names, fmt.Sprintf("profile %d %016x", i, rand.Uint64()))
		want[names[i]] = true
	}
	begin := time.Now()
	leave(t, dir, names...)
	noWorkers(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for _, i := range random.Perm(2 * n)[:n] {
		file := files(t, dir)[i]
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bit := random.IntN(8 * len(data))
		data[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var mu sync.Mutex
	var changed []string
	got := map[string]bool{}
	q := newQueue(t, sendFunc(func(p *exporter.Profile) error {
		data, err := p.Pprof()
		mu.Lock()
		defer mu.Unlock()
		got[string(data)] = true
		if !want[string(data)] || p.Kind() != exporter.KindCPU || p.Start().Before(begin.Add(-time.Hour)) || p.End().After(time.Now()) {
			changed = append(changed, string(data))
		}
		return err
	}), exporter.WithSpill(dir))
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	shutdown(t, q)
	s := q.Stats()
	if len(changed) > 0 || len(got) != n || s.Exported != n || s.Unreadable != n {
		t.Errorf("seed %d: %d delivered, %q changed; Stats %+v; want %d delivered and as many unreadable", seed, len(got), changed, s, n)
	}
	damaged := slices.DeleteFunc(files(t, dir), func(name string) bool { return !strings.HasSuffix(name, ".damaged") })
	if len(damaged) != n {
		t.Errorf("%d damaged files stay, want %d", len(damaged), n)
	}
}

type sendFunc func(*exporter.Profile) error

func (f sendFunc) Send(_ context.Context, p *exporter.Profile) error { return f(p) }
