// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/internal/wire"
)

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
