// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// A spilled profile is a file <end of the window in Unix ns>-<random>.spanprof:
// a spillHeader as a line of JSON, then the pprof form. The name ends in
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
	Bytes    int              `json:"pprof_bytes"`
	CRC32    uint32           `json:"pprof_crc32"`
}

// spill writes a profile to dir.
func spill(dir string, w Window, end time.Time, data []byte) (*item, error) {
	header, err := json.Marshal(spillHeader{
		Kind:     w.Kind,
		Start:    w.Start,
		Duration: w.Duration,
		Schema:   w.Resource.SchemaURL(),
		Resource: spillAttributes(w.Resource.Attributes()),
		Bytes:    len(data),
		CRC32:    crc32.ChecksumIEEE(data),
	})
	if err != nil {
		return nil, fmt.Errorf("describe it for the spill directory: %w", err)
	}
	header = append(header, '\n')
	name := fmt.Sprintf("%019d-%016x%s", max(end.UnixNano(), 0), rand.Uint64(), spillSuffix)
	if err := atomicfile.Write(dir, name, atomicfile.Process, header, data); err != nil {
		return nil, err
	}
	return &item{window: w, end: end, size: int64(len(header) + len(data)), spilled: true, file: filepath.Join(dir, name)}, nil
}

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

// leftIn returns the profiles in dir.
func leftIn(dir string) ([]*item, error) {
	entries, err := os.ReadDir(dir) // by name: by the end of the window
	if err != nil {
		return nil, err
	}
	var left []*item
	for _, e := range entries {
		stamp, _, ok := strings.Cut(e.Name(), "-")
		end, err := strconv.ParseInt(stamp, 10, 64)
		if !ok || err != nil || !strings.HasSuffix(e.Name(), spillSuffix) || !e.Type().IsRegular() {
			continue // not ours
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		left = append(left, &item{
			end:      time.Unix(0, min(end, time.Now().UnixNano())), // the clock may have been set back
			size:     info.Size(),
			doubtful: strings.HasSuffix(e.Name(), doubtfulSuffix),
			spilled:  true,
			file:     filepath.Join(dir, e.Name()),
		})
	}
	return left, nil
}

// readSpilled reads what spill has written.
func readSpilled(file string) (Window, []byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Window{}, nil, err
	}
	line, pprof, _ := bytes.Cut(data, []byte("\n"))
	var h spillHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return Window{}, nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(pprof) != h.Bytes || crc32.ChecksumIEEE(pprof) != h.CRC32 {
		return Window{}, nil, fmt.Errorf("%s: the profile is damaged", file)
	}
	return Window{
		Kind:     h.Kind,
		Start:    h.Start,
		Duration: h.Duration,
		Resource: resource.NewWithAttributes(h.Schema, attributes(h.Resource)...),
	}, pprof, nil
}
