// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && !go1.28 && !spanprof_public

package wall

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/livetest"
)

func TestSourcesAgree(t *testing.T) {
	var wait sync.WaitGroup
	stop := make(chan struct{})
	ways := []func(){
		func() { <-stop },
		func() { generic[[]string](stop) },
		func() { inlined(stop) },
		func() { deep(200, stop) },
	}
	for i, way := range ways {
		for n := range 3 {
			wait.Go(func() {
				ctx := pprof.WithLabels(context.Background(), pprof.Labels("span_id", strconv.Itoa(i), "own", strconv.Itoa(n%2), "span_name", ""))
				pprof.SetGoroutineLabels(ctx)
				way()
			})
		}
	}
	defer wait.Wait()
	defer close(stop)

	// Some may not be where they wait yet.
	livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
		byRuntime, byPublic := once(t, newRuntimeSource()), once(t, newPublicSource())
		diff := cmp.Diff(byPublic, byRuntime)
		if diff == "" && len(byRuntime) == 2*len(ways) {
			return ""
		}
		<-time.After(d)
		return fmt.Sprintf("got %d different samples, want %d; the runtime's way found others (+) than the public one (-):\n%s", len(byRuntime), 2*len(ways), diff)
	})
}

// once takes a round and returns the samples of its profile, as text.
func once(t *testing.T, s source) []string {
	t.Helper()
	tab := newTable()
	if err := s.look(); err != nil {
		t.Fatal(err)
	}
	s.visit(func(stack []uintptr, labels []label, count int64) { tab.add(stack, labels, count) })
	var all []string
	for _, sample := range build(s, tab, time.Now(), time.Second).Sample {
		var text strings.Builder
		fmt.Fprint(&text, sample.Value, sample.Label)
		for _, l := range sample.Location {
			fmt.Fprint(&text, "\n", len(l.Line), " functions")
			for _, line := range l.Line {
				fmt.Fprintf(&text, "\n\t%s %s:%d from %d", line.Function.Name, line.Function.Filename, line.Line, line.Function.StartLine)
			}
		}
		all = append(all, text.String())
	}
	slices.Sort(all)
	return all
}

//go:noinline
func generic[T any](stop chan struct{}) { <-stop; _ = *new(T) }

func inlined(stop chan struct{}) { inlinedToo(stop) }

func inlinedToo(stop chan struct{}) { <-stop }

//go:noinline
func deep(n int, stop chan struct{}) {
	if n == 0 {
		<-stop
		return
	}
	deep(n-1, stop)
}
