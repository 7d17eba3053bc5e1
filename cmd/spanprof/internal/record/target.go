// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/internal/profiledir"
	"github.com/spanprof/spanprof/internal/wire"
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
	end time.Time

	mu      sync.Mutex
	giveUp  context.CancelCauseFunc
	seen    map[exporter.Kind]bool // kinds with a profile
	covered map[exporter.Kind]*covered
	since   map[exporter.Kind]time.Time // the begin of failures that last, of the whole process for ""
	result  Result

	recording source.Recording
	files     exporter.Exporter // nil before the first profile
	runs      map[string]bool   // of the process, so far
	run       string            // of the newest profile; empty if unknown
	build     string            // of the newest profile
}

// covered is how far the profiles of a kind reach.
type covered struct {
	until  time.Time // the end of the last profile
	run    string    // its process; empty if unknown
	failed bool      // a request has failed since
}

func newTarget(c Config, t *source.Target) *target {
	begun := time.Now()
	own := &target{
		Config: c, Target: t, end: begun.Add(c.For),
		seen: map[exporter.Kind]bool{}, covered: map[exporter.Kind]*covered{}, since: map[exporter.Kind]time.Time{},
		result: Result{Target: t.Name(), Dir: DirOf(c.Dir, t), Gaps: map[exporter.Kind]Gaps{}},
		runs:   map[string]bool{},
	}
	for _, kind := range source.TargetKinds {
		own.covered[kind] = &covered{until: begun}
	}
	return own
}

// errLeftOut is the error for a kind or a target without more requests.
var errLeftOut = errors.New("left out")

// record records all kinds until the time is over.
func (t *target) record(ctx context.Context) Result {
	working, giveUp := context.WithCancelCause(ctx)
	t.giveUp = giveUp
	defer giveUp(nil)
	var all sync.WaitGroup
	for _, kind := range source.TargetKinds {
		all.Go(func() { t.windows(working, kind) })
	}
	all.Wait()
	for _, kind := range source.TargetKinds {
		if c := t.covered[kind]; c.failed && t.result.Profiles > 0 {
			t.result.gap(kind, earlier(time.Now(), t.end).Sub(c.until))
		}
	}
	t.result.Runs = max(1, len(t.runs))
	if t.files != nil {
		if err := t.files.Shutdown(context.WithoutCancel(ctx)); err != nil {
			t.result.Err = err
		}
	}
	return t.result
}

// windows records one kind, and at the end once more what needs no measuring.
func (t *target) windows(ctx context.Context, kind exporter.Kind) {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = maxPause
	for ctx.Err() == nil {
		until := earlier(time.Now().Add(t.Every), t.end)
		measure := time.Until(until).Round(time.Second)
		if measure < time.Second {
			break
		}
		if kind != exporter.KindCPU {
			measure = 0
		}
		switch err := t.keep(ctx, kind, measure); {
		case errors.Is(err, errLeftOut):
			return
		case err == nil:
			pause.Reset()
			wait(ctx, until) // a server may answer early with what it has
		default:
			wait(ctx, earlier(time.Now().Add(pause.NextBackOff()), t.end))
		}
	}
	if kind == exporter.KindCPU || errors.Is(context.Cause(ctx), errLeftOut) {
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

// keep fetches a profile and writes it. CPU time is measured for so long.
func (t *target) keep(ctx context.Context, kind exporter.Kind, measure time.Duration) error {
	begun := time.Now()
	bound := measure + min(max(minGrace, t.Every/2), maxGrace)
	limited, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	data, parsed, err := t.Fetch(limited, kind, measure)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", bound, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && ctx.Err() != nil && measure > 0 && !errors.Is(context.Cause(ctx), errLeftOut) {
		t.Report(t.Name() + ": the CPU profile in flight is dropped")
	}
	n := int64(0)
	if err == nil {
		t.seen[kind] = true
		n, err = t.write(ctx, kind, begun, data, parsed)
	}
	if err != nil {
		return t.fail(ctx, kind, err)
	}
	t.recovered(kind)
	c := t.covered[kind]
	// A profile that counts since its process began has no gap.
	if c.failed && (!source.Cumulative(kind) || c.run != t.run) {
		t.result.gap(kind, begun.Sub(c.until))
	}
	*c = covered{until: time.Now(), run: t.run}
	t.result.Profiles++
	t.result.Bytes += n
	t.result.Err = nil
	return nil
}

// fail counts an error of a kind, and reports the first of several. It returns err, or
// errLeftOut if another request makes no sense. The caller holds t.mu.
func (t *target) fail(ctx context.Context, kind exporter.Kind, err error) error {
	if ctx.Err() != nil {
		return err // not a fault of the target
	}
	status, answered := errors.AsType[*client.StatusError](err)
	// A proxy answers 404 too while the process is away: others must have a profile.
	if answered && status.Code == http.StatusNotFound && !t.seen[kind] && len(t.seen) > 0 && t.since[""].IsZero() {
		t.covered[kind].failed = false // nothing is missing
		t.Report(fmt.Sprintf("%v; the kind is left out", err))
		return errLeftOut
	}
	t.covered[kind].failed = true
	t.result.Failures++
	t.result.Err = err
	if answered && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden) {
		t.Report(fmt.Sprintf("%v; there are no more requests to it", err))
		t.giveUp(errLeftOut)
		return errLeftOut
	}
	if isAway(err) {
		kind = ""
	}
	if t.since[kind].IsZero() {
		t.since[kind] = time.Now()
		t.Report(fmt.Sprintf("%v; it is retried", err))
	}
	return err
}

// isAway reports whether err means that the whole process is away, also if a proxy has
// answered. A request that times out is slow itself, and too large an answer is of one kind.
func isAway(err error) bool {
	if _, ok := errors.AsType[*client.UnansweredError](err); ok {
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, client.ErrTooLarge)
	}
	status, ok := errors.AsType[*client.StatusError](err)
	return ok && slices.Contains([]int{http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status.Code)
}

// recovered reports the end of failures of a kind and of the target. The caller holds t.mu.
func (t *target) recovered(kind exporter.Kind) {
	for kind, what := range map[exporter.Kind]string{"": "it is", kind: string(kind) + " profiles are"} {
		if since := t.since[kind]; !since.IsZero() {
			delete(t.since, kind)
			t.Report(fmt.Sprintf("%s: %s there again after %v", t.Name(), what, time.Since(since).Round(100*time.Millisecond)))
		}
	}
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

// forever is the age of files: MaxBytes bounds them.
const forever = 100 * 365 * 24 * time.Hour

// write writes a profile into the directory of the recording, and returns its bytes there.
func (t *target) write(ctx context.Context, kind exporter.Kind, begun time.Time, data []byte, parsed *profile.Profile) (int64, error) {
	if t.files == nil {
		if err := t.begin(parsed); err != nil {
			return 0, err
		}
	}
	t.see(parsed)
	w := exporter.Window{Kind: kind, Start: begun, Duration: time.Duration(parsed.DurationNanos), Resource: t.recording.Attributes()}
	if parsed.TimeNanos > 0 {
		w.Start = time.Unix(0, parsed.TimeNanos)
	}
	data, err := wire.Gzipped(data) // as in the file: net/http/pprof compresses, others need not
	if err != nil {
		return 0, err
	}
	return int64(len(data)), t.files.Export(ctx, exporter.NewProfile(w, data))
}

// begin makes the directory of the recording, which is named after the time.
func (t *target) begin(p *profile.Profile) (err error) {
	t.recording = source.Recording{Target: t.Name(), Resource: t.Attributes(p)}
	maps.Copy(t.recording.Resource, t.Resource)
	if err := os.MkdirAll(t.result.Dir, 0o700); err != nil {
		return err
	}
	dir := filepath.Join(t.result.Dir, time.Now().UTC().Format("20060102T150405.000Z"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := t.recording.Write(dir); err != nil {
		return err
	}
	t.files, err = file.New(dir, t.MaxBytes, forever)
	return err
}

// see reports a run of the process that no profile before was of. A CPU profile may lack the
// vDSO: it is of the run before it, if its build is the same.
func (t *target) see(p *profile.Profile) {
	run, build := source.Run(p), source.BuildID(p)
	same := build == t.build
	t.build = build
	if run == "" && !same {
		run = build
	}
	if run == "" || run == t.run {
		return
	}
	if same && t.run == build {
		delete(t.runs, build) // it has its name now
	} else if len(t.runs) > 0 && !t.runs[run] {
		t.Report(t.Name() + ": another process answers there: it was restarted, or there are several, which need an address each")
	}
	t.run, t.runs[run] = run, true
}
