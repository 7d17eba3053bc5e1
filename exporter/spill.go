// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/recordfile"
)

// A spilled profile is a record in a file. Its name is <end of the window in Unix
// ns>-<random>.spanprof, and its description is a spillHeader in JSON. The name ends in
// doubtfulSuffix while the destination may have it.
const (
	spillSuffix    = ".spanprof"
	doubtfulSuffix = ".doubtful" + spillSuffix
)

type spillHeader struct {
	Kind     Kind             `json:"kind"`
	Start    time.Time        `json:"start"`
	Duration time.Duration    `json:"duration_ns"`
	Schema   string           `json:"schema_url,omitempty"`
	Resource []spillAttribute `json:"resource"`
}

// spill writes a profile to the directory of c.
func spill(c queueConfig, w Window, end time.Time, data []byte) (*item, error) {
	header, err := json.Marshal(spillHeader{
		Kind:     w.Kind,
		Start:    w.Start,
		Duration: w.Duration,
		Schema:   w.Resource.SchemaURL(),
		Resource: spillAttributes(w.Resource.Attributes()),
	})
	if err != nil {
		return nil, &unfitError{fmt.Errorf("describe it for the spill directory: %w", err)}
	}
	name := fmt.Sprintf("%019d-%016x%s", max(end.UnixNano(), 0), rand.Uint64(), spillSuffix)
	size, err := recordfile.Write(c.dir, name, header, data, c.durability)
	if err != nil {
		return nil, err
	}
	return &item{kind: w.Kind, end: end, size: size, spilled: true, file: filepath.Join(c.dir, name)}, nil
}

// unfitError is the error for a profile that no file can hold.
type unfitError struct{ err error }

func (e *unfitError) Error() string { return e.err.Error() }
func (e *unfitError) Unwrap() error { return e.err }

// openSpill makes dir usable, takes its lock and returns what an earlier process
// has left there, oldest first.
func openSpill(dir string) (lock *os.File, left []*item, err error) {
	if err := atomicfile.Prepare(dir); err != nil {
		return nil, nil, err
	}
	lock, err = atomicfile.Lock(dir)
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, nil, fmt.Errorf("%w: name another one for each queue", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if left, err = leftIn(dir); err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return lock, left, nil
}

// leftIn returns the profiles in dir, oldest first. It reports what else has the name
// of a profile.
func leftIn(dir string) (left []*item, err error) {
	var skipped files.Skipped
	list, err := files.List(dir, files.Follow, &skipped, func(name string) bool { return strings.HasSuffix(name, spillSuffix) })
	if err != nil {
		return nil, err
	}
	for _, info := range list {
		stamp, _, _ := strings.Cut(info.Name(), "-")
		end, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			continue // not ours
		}
		if info.Size() > recordfile.MaxBytes {
			skipped.Add(fmt.Errorf("%s has %d bytes", filepath.Join(dir, info.Name()), info.Size()))
			continue
		}
		left = append(left, &item{
			end:      time.Unix(0, min(end, time.Now().UnixNano())), // the clock may have been set back
			size:     info.Size(),
			doubtful: strings.HasSuffix(info.Name(), doubtfulSuffix),
			spilled:  true,
			file:     filepath.Join(dir, info.Name()),
		})
	}
	if err := skipped.Err(); err != nil {
		otel.Handle(fmt.Errorf("spill directory: skipped: %w", err))
	}
	slices.SortFunc(left, func(a, b *item) int { return strings.Compare(a.file, b.file) }) // by the end of the window
	return left, nil
}

// readSpilled reads what spill has written.
func readSpilled(file string) (Window, []byte, error) {
	description, pprof, err := recordfile.Read(file)
	if err != nil {
		return Window{}, nil, err
	}
	var h spillHeader
	if err := json.Unmarshal(description, &h); err != nil {
		return Window{}, nil, &recordfile.DamagedError{File: file, Reason: err.Error()}
	}
	return Window{
		Kind:     h.Kind,
		Start:    h.Start,
		Duration: h.Duration,
		Resource: resource.NewWithAttributes(h.Schema, attributes(h.Resource)...),
	}, pprof, nil
}

// respillPause is how long a lane waits before it tries again to write files, after
// it failed: on a full disk.
const respillPause = time.Second

// unspilled removes a profile from memory that must be written to a file now. It is nil
// if there is none. The caller holds l.mu.
func (l *lane) unspilled(now time.Time) *item {
	if pause, some := l.respillIn(now); !some || pause > 0 {
		return nil
	}
	i := l.waiting.first(byPlace)
	l.waiting.remove(i)
	l.preparing = i
	return i
}

// respillIn returns the time until the next profile in memory must be written, and
// whether there is one. The caller holds l.mu.
func (l *lane) respillIn(now time.Time) (pause time.Duration, some bool) {
	if !l.config.spill {
		return 0, false
	}
	i := l.waiting.first(byPlace)
	return l.respill.Sub(now), i != nil && i.place() == 0
}

// moveToFile writes a profile that has waited in memory.
func (l *lane) moveToFile(i *item) {
	data, err := i.profile.Pprof()
	var written *item
	if err == nil {
		if written, err = spill(l.config, i.profile.window, i.end, data); err == nil {
			written.mark(i.doubtful)
		}
	}
	l.mu.Lock()
	if err == nil {
		i.size, i.spilled, i.file, i.profile = written.size, true, written.file, nil
	} else {
		l.respill = time.Now().Add(respillPause)
	}
	if l.abandoned {
		l.keepLate(1, i)
		l.mu.Unlock()
		return
	}
	l.preparing = nil
	l.waiting.add(i)
	dropped := l.makeRoom(0, 0)
	l.mu.Unlock()
	l.forget(dropped)
}
