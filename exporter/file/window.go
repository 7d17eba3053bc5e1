// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/exporter"
)

const (
	suffix = ".pprof.gz"
	// timeFormat has a fixed width, and no colon: Windows allows none.
	timeFormat = "20060102T150405.000000000Z"
	// maxName leaves a name within the 255 bytes of most file systems.
	maxName = 100
)

// window is a file in the directory.
type window struct {
	name  string
	start time.Time
	size  int64
}

// windows returns the files in dir that New's predecessors have written, oldest
// first.
func windows(dir string) ([]window, error) {
	entries, err := os.ReadDir(dir) // by name: by time
	if err != nil {
		return nil, err
	}
	var found []window
	for _, e := range entries {
		stamp, _, _ := strings.Cut(e.Name(), "-")
		start, err := time.Parse(timeFormat, stamp)
		if err != nil || !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, window{name: e.Name(), start: start, size: info.Size()})
	}
	return found, nil
}

// nameOf returns the name of p's file that begins at start; n tells files apart
// that would have the same.
func nameOf(p *exporter.Profile, start time.Time, n int) string {
	service, _ := p.Resource().Set().Value(attribute.Key("service.name"))
	name := start.UTC().Format(timeFormat) + "-" + clean(service.AsString(), "unknown_service") + "-"
	if n > 0 {
		name += strconv.Itoa(n) + "-"
	}
	return name + clean(string(p.Kind()), "unknown") + suffix
}

// clean makes s part of a file's name.
func clean(s, empty string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return empty
	}
	return s[:min(len(s), maxName)]
}
