// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/internal/wire"
)

const (
	// maxRuns bounds the directories of a target that is restarted all the time.
	maxRuns = 200
	// forever is the age of files: MaxBytes bounds them.
	forever = 100 * 365 * 24 * time.Hour
)

// run is one run of a process.
type run struct {
	id, build string // empty if unknown
	recording source.Recording
	files     exporter.Exporter
	dir       string
	bytes     int64 // written
}

// write writes a profile into the directory of the run that it is of.
func (t *target) write(ctx context.Context, kind exporter.Kind, begun time.Time, raw *source.Raw) (int64, error) {
	r, err := t.runOf(raw.Parsed)
	if err != nil {
		return 0, err
	}
	w := exporter.Window{Kind: kind, Start: begun, Duration: time.Duration(raw.Parsed.DurationNanos), Resource: r.recording.Attributes()}
	if raw.Parsed.TimeNanos > 0 {
		w.Start = time.Unix(0, raw.Parsed.TimeNanos)
	}
	data, err := wire.Gzipped(raw.Data) // as in the file: net/http/pprof compresses, others need not
	if err != nil {
		return 0, err
	}
	if err := r.files.Export(ctx, exporter.NewProfile(w, data)); err != nil {
		return 0, err
	}
	r.bytes += int64(len(data))
	return int64(len(data)), t.prune(ctx)
}

// prune removes the oldest runs until all take MaxBytes or less together. The current run
// removes its own files.
func (t *target) prune(ctx context.Context) error {
	all := int64(0)
	for _, r := range t.runs {
		all += r.bytes
	}
	for _, r := range t.runs {
		if r == t.current || r.bytes == 0 || all <= t.MaxBytes {
			continue
		}
		if err := errors.Join(r.files.Shutdown(ctx), os.RemoveAll(r.dir)); err != nil {
			return err
		}
		all -= r.bytes
		r.bytes, r.id = 0, "" // its next profile begins another run
	}
	return nil
}

// runOf returns the run that a profile is of, and begins one if there is none.
func (t *target) runOf(p *profile.Profile) (*run, error) {
	id, build := source.Run(p), source.BuildID(p)
	for _, r := range t.runs {
		if id != "" && r.id == id {
			if r != t.current && !t.mixed {
				t.mixed = true
				t.Report(t.Name() + ": several processes answer there in turn: their profiles are kept apart, and each is recorded in part; name each by an address of its own")
			}
			t.current = r
			return r, nil
		}
	}
	if r := t.current; r != nil && (id == "" || r.id == "") && (build == "" || r.build == "" || build == r.build) {
		r.id = cmp.Or(r.id, id)
		return r, nil
	}
	if len(t.runs) >= maxRuns {
		return nil, fmt.Errorf("the process has been restarted %d times: no more directories are made", maxRuns-1)
	}
	r, err := t.newRun(id, build, p)
	if err != nil {
		return nil, err
	}
	if t.current != nil {
		t.Report(t.Name() + ": the process was restarted")
	}
	t.runs = append(t.runs, r)
	t.current = r
	return r, nil
}

func (t *target) newRun(id, build string, p *profile.Profile) (*run, error) {
	r := &run{id: id, build: build, recording: source.Recording{
		Target: t.Name(), Started: time.Now().UTC().Truncate(time.Millisecond), BuildID: build, Run: id, Resource: map[string]string{},
	}}
	for _, kv := range t.Target.Resource(p).Attributes() {
		if kv.Key != "process.executable.build_id.gnu" {
			r.recording.Resource[string(kv.Key)] = kv.Value.AsString()
		}
	}
	r.recording.Resource["service.name"] = "unknown_service"
	if name := r.recording.Resource["process.executable.name"]; name != "" {
		r.recording.Resource["service.name"] = "unknown_service:" + name // as OpenTelemetry names it
	}
	maps.Copy(r.recording.Resource, t.Config.Resource)
	var err error
	if r.dir, err = makeDir(t.dir, r.recording.Started); err != nil {
		return nil, err
	}
	if err := r.recording.Write(r.dir); err != nil {
		return nil, err
	}
	if r.files, err = file.New(r.dir, t.MaxBytes, forever); err != nil {
		return nil, err
	}
	return r, nil
}

// makeDir makes a directory that is named after the time.
func makeDir(parent string, at time.Time) (string, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join(parent, at.Format("20060102T150405Z"))
		if n > 1 {
			dir += "-" + strconv.Itoa(n)
		}
		if err := os.Mkdir(dir, 0o700); !errors.Is(err, os.ErrExist) {
			return dir, err
		}
	}
}
