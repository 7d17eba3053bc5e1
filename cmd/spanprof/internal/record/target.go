// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/profiledir"
	"github.com/spanprof/spanprof/internal/termtext"
)

const (
	// maxPause is the longest pause after failed requests.
	maxPause = 30 * time.Second
	// lastTime is for the last profiles after a signal.
	lastTime = 5 * time.Second
	// minGrace and maxGrace bound how long an answer may take beyond the measured time:
	// half a window. A request that hangs then costs at most one and a half windows.
	minGrace, maxGrace = 5 * time.Second, 30 * time.Second
)

// target records one process. Each kind has its own goroutine: a slow one delays no other.
type target struct {
	Config
	*source.Target
	room *room
	dir  string
	end  time.Time

	mu      sync.Mutex
	giveUp  context.CancelFunc
	kinds   []exporter.Kind        // to request
	missing map[exporter.Kind]bool // answered with 404 so far
	seen    map[exporter.Kind]bool
	covered map[exporter.Kind]*covered
	trouble map[exporter.Kind]*trouble
	runs    []*run
	current *run
	mixed   bool // several processes have answered in turn
	result  Result
}

// covered is how far the profiles of a kind reach.
type covered struct {
	until  time.Time // the end of the last profile
	run    *run      // its process; nil before the first
	failed bool      // a request has failed since
}

func newTarget(c Config, t *source.Target, room *room) *target {
	begun := time.Now()
	dir := DirOf(c.Dir, t)
	own := &target{
		Config: c, Target: t, room: room, dir: dir, end: begun.Add(c.For),
		kinds:   slices.Clone(source.TargetKinds),
		missing: map[exporter.Kind]bool{}, seen: map[exporter.Kind]bool{},
		covered: map[exporter.Kind]*covered{}, trouble: map[exporter.Kind]*trouble{},
		result: Result{Target: t.Name(), Dir: dir},
	}
	for _, kind := range source.TargetKinds {
		own.covered[kind] = &covered{until: begun}
	}
	return own
}

// errGivenUp ends the recording of a target. Its Result has the reason.
var errGivenUp = errors.New("given up")

// record records all kinds until the time is over.
func (t *target) record(ctx context.Context) Result {
	working, giveUp := context.WithCancelCause(ctx)
	t.giveUp = func() { giveUp(errGivenUp) }
	defer t.giveUp()
	var all sync.WaitGroup
	for _, kind := range source.TargetKinds {
		all.Go(func() { t.windows(working, kind) })
	}
	for working.Err() == nil && time.Now().Before(t.end) {
		wait(working, earlier(time.Now().Add(t.Every), t.end))
		t.progress()
	}
	all.Wait()
	t.endTroubles()
	for _, r := range t.runs {
		t.result.Runs++
		if err := r.files.Shutdown(context.WithoutCancel(ctx)); err != nil {
			t.result.Err = errors.Join(t.result.Err, err)
		}
	}
	return t.result
}

func (t *target) progress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Progress(fmt.Sprintf("%s: %s, %s, %v to go", t.Name(), termtext.Plural(t.result.Profiles, "profile"), termtext.Value(t.result.Bytes, termtext.Bytes), max(0, time.Until(t.end)).Round(time.Second)))
}

// windows records one kind, and at the end once more what needs no measuring.
func (t *target) windows(ctx context.Context, kind exporter.Kind) {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = maxPause
	for ctx.Err() == nil && t.isWanted(kind) {
		until := earlier(time.Now().Add(t.Every), t.end)
		measure := time.Until(until).Round(time.Second)
		if measure < time.Second {
			break
		}
		if kind != exporter.KindCPU {
			measure = 0
		}
		if t.keep(ctx, kind, measure) == nil {
			pause.Reset()
			wait(ctx, until) // a server may answer early with what it has
		} else {
			wait(ctx, earlier(time.Now().Add(pause.NextBackOff()), t.end))
		}
	}
	if kind == exporter.KindCPU || context.Cause(ctx) == errGivenUp || !t.isWanted(kind) || !t.isBegun() { //nolint:errorlint // it is not wrapped
		return
	}
	wait(ctx, t.end)
	// After a signal, which may come now too, there is a little time for what counts since
	// the process began.
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastTime, cancel) })()
	_ = t.keep(last, kind, 0)
}

func (t *target) isWanted(kind exporter.Kind) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.kinds, kind)
}

func (t *target) isBegun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.runs) > 0
}

// keep fetches a profile and writes it. CPU time is measured for so long.
func (t *target) keep(ctx context.Context, kind exporter.Kind, measure time.Duration) error {
	begun := time.Now()
	bound := measure + min(max(minGrace, t.Every/2), maxGrace)
	limited, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	raw, err := t.Fetch(limited, kind, measure)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", bound, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil && measure > 0 && context.Cause(ctx) != errGivenUp { //nolint:errorlint // it is not wrapped
			t.Report(t.Name() + ": the CPU profile in flight is dropped")
		}
		return t.fail(ctx, kind, err)
	}
	t.succeeded(kind)
	n, err := t.write(ctx, kind, begun, raw)
	if err != nil {
		return t.fail(ctx, kind, err)
	}
	t.recovered(kind)
	t.cover(kind, begun)
	t.result.Profiles++
	t.result.Bytes += n
	return nil
}

// cover counts the time since the last profile of a kind as a gap if a request has failed
// since. A profile that counts since its process began has no gap. The caller holds t.mu.
func (t *target) cover(kind exporter.Kind, begun time.Time) {
	c := t.covered[kind]
	if c.failed && (!source.Cumulative(kind) || c.run != t.current) {
		t.result.gap(kind, begun.Sub(c.until))
	}
	*c = covered{until: time.Now(), run: t.current}
}

// succeeded notes that the target has a kind. It lacks the kinds that it refused before. The
// caller holds t.mu.
func (t *target) succeeded(kind exporter.Kind) {
	t.seen[kind] = true
	delete(t.missing, kind)
	for _, kind := range slices.Clone(t.kinds) {
		if t.missing[kind] {
			t.leaveOut(kind)
		}
	}
}

func (t *target) leaveOut(kind exporter.Kind) {
	t.kinds = slices.DeleteFunc(t.kinds, func(k exporter.Kind) bool { return k == kind })
	delete(t.missing, kind)
	t.result.Lacks = append(t.result.Lacks, kind)
	slices.Sort(t.result.Lacks)
	t.Report(fmt.Sprintf("%s: the server has no %s profile, which is left out", t.Name(), kind))
}

// wait returns at a time or when ctx ends.
func wait(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// DirOf returns the directory of a target below another.
func DirOf(dir string, t *source.Target) string {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(t.Name(), "http://"), "https://"), "/debug/pprof/")
	if name = profiledir.Plain(name); strings.Trim(name, ".") == "" { // some mean another directory
		name = "_" + name
	}
	return filepath.Join(dir, name)
}
