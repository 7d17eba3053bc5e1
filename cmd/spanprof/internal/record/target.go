// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

const (
	// maxPause is the longest pause before a target is asked again.
	maxPause = 30 * time.Second
	// lastTime is for the last profiles after a signal.
	lastTime = 5 * time.Second
)

// target records one process. It belongs to one goroutine.
type target struct {
	Config
	*source.Target
	room    *room
	dir     string
	kinds   []exporter.Kind // those left to ask for
	missing map[exporter.Kind]bool
	seen    map[exporter.Kind]bool
	pause   *backoff.ExponentialBackOff
	trouble map[exporter.Kind]*trouble
	runs    []*run
	current *run
	mixed   bool // several processes have answered in turn
	result  Result
}

func newTarget(c Config, t *source.Target, room *room) *target {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = maxPause
	dir := DirOf(c.Dir, t)
	return &target{
		Config: c, Target: t, room: room, dir: dir, pause: pause,
		kinds:   slices.Clone(c.Kinds),
		missing: map[exporter.Kind]bool{}, seen: map[exporter.Kind]bool{}, trouble: map[exporter.Kind]*trouble{},
		result: Result{Target: t.Name(), Dir: dir},
	}
}

// errGivenUp ends the recording of a target; its Result says why.
var errGivenUp = errors.New("given up")

// record asks for profiles until the time is over.
func (t *target) record(ctx context.Context) Result {
	end := time.Now().Add(t.For)
	err := t.windows(ctx, end)
	if !errors.Is(err, errGivenUp) {
		// After a signal, which may come now too, there is a little time for what
		// counts since the process began.
		last, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(lastTime, cancel) })()
		if len(t.runs) > 0 {
			_ = t.snapshots(last)
		}
	}
	t.endTroubles()
	for _, r := range t.runs {
		t.result.Runs++
		if err := r.files.Shutdown(context.WithoutCancel(ctx)); err != nil {
			t.result.Err = errors.Join(t.result.Err, err)
		}
	}
	return t.result
}

// windows records one window after the other. It returns errGivenUp, or the
// error of ctx.
func (t *target) windows(ctx context.Context, end time.Time) error {
	for ctx.Err() == nil && time.Until(end).Round(time.Second) >= time.Second {
		err := t.snapshots(ctx)
		if err == nil {
			err = t.window(ctx, earlier(time.Now().Add(t.Every), end))
		}
		switch {
		case errors.Is(err, errGivenUp):
			return err
		case err != nil:
			t.wait(ctx, earlier(time.Now().Add(t.pause.NextBackOff()), end))
		default:
			t.Progress(fmt.Sprintf("%s: %s, %s, %v to go", t.Name(), count(t.result.Profiles, "profile"), size(t.result.Bytes), max(0, time.Until(end)).Round(time.Second)))
		}
	}
	return ctx.Err()
}

// snapshots keeps the profiles that need no measuring. It returns an error if the
// target is away.
func (t *target) snapshots(ctx context.Context) error {
	for _, kind := range slices.Clone(t.kinds) {
		if kind == exporter.KindCPU {
			continue
		}
		if err := t.keep(ctx, kind, 0); err != nil && isAway(err) {
			return err
		}
	}
	if len(t.missing) > 0 && len(t.missing) == len(t.kinds) { // not even one, and no CPU profile is to come
		return t.fail(ctx, "", &source.StatusError{Name: t.Name(), Status: "404 Not Found", Code: http.StatusNotFound, Text: "it has none of the profiles"})
	}
	return nil
}

// window measures CPU until its end. It returns an error if the target goes away.
func (t *target) window(ctx context.Context, end time.Time) error {
	for slices.Contains(t.kinds, exporter.KindCPU) && ctx.Err() == nil {
		measure := time.Until(end).Round(time.Second)
		if measure < time.Second {
			break
		}
		measured := time.Now().Add(measure)
		err := t.keep(ctx, exporter.KindCPU, measure)
		switch {
		case err == nil:
			t.wait(ctx, measured) // where the server has answered with what it had
			return nil
		case isAway(err):
			return err
		case ctx.Err() != nil:
			t.Report(t.Name() + ": the CPU profile in flight is dropped")
			return ctx.Err()
		case t.missing[exporter.KindCPU] && len(t.missing) == len(t.kinds):
			return t.fail(ctx, "", err)
		}
		t.wait(ctx, earlier(time.Now().Add(t.pause.NextBackOff()), end))
	}
	t.wait(ctx, end)
	return nil
}

// keep fetches a profile and writes it.
func (t *target) keep(ctx context.Context, kind exporter.Kind, measure time.Duration) error {
	begun := time.Now()
	raw, err := t.Fetch(ctx, kind, measure)
	if err != nil {
		return t.fail(ctx, kind, err)
	}
	t.succeeded(kind)
	n, err := t.write(ctx, kind, begun, raw)
	if err != nil {
		return t.fail(ctx, kind, err)
	}
	t.recovered(kind)
	t.result.Profiles++
	t.result.Bytes += n
	return nil
}

// succeeded notes that the target has a kind. It lacks those, then, that it has
// refused before.
func (t *target) succeeded(kind exporter.Kind) {
	t.seen[kind] = true
	delete(t.missing, kind)
	t.pause.Reset()
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
	t.Report(fmt.Sprintf("%s: the server has no %s profile, which is left out", t.Name(), kind))
}

// wait waits until a time or the end of ctx.
func (t *target) wait(ctx context.Context, until time.Time) {
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
	return joinClean(dir, name)
}
