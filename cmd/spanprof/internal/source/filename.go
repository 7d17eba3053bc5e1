// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// nameParts are what exporter/file puts into a file's name.
type nameParts struct {
	start         time.Time
	service, kind string
}

// partsOfName returns the parts of a name that has the form.
func partsOfName(path string) (parts nameParts, ok bool) {
	stamp, rest, _ := strings.Cut(filepath.Base(path), "-")
	start, err := time.Parse("20060102T150405.000000000Z", stamp)
	rest, ok = strings.CutSuffix(rest, ".pprof.gz")
	i := strings.LastIndexByte(rest, '-')
	if err != nil || !ok || i < 0 {
		return nameParts{}, false
	}
	return nameParts{start: start, service: rest[:i], kind: rest[i+1:]}, true
}

// IsRecorded reports whether a file has a name that exporter/file gives.
func IsRecorded(name string) bool {
	_, ok := partsOfName(name)
	return ok
}

// kindOfName returns the kind in the name of a file of exporter/file; empty if
// the name is not of that form.
func kindOfName(path string) exporter.Kind {
	parts, _ := partsOfName(path)
	return exporter.Kind(parts.kind)
}

// serviceOfName returns the service in such a name, empty where there was none.
func serviceOfName(path string) string {
	parts, _ := partsOfName(path)
	if parts.service == "unknown_service" {
		return ""
	}
	return parts.service
}

// startOfName returns the time in such a name; zero if the name is not of that
// form.
func startOfName(path string) time.Time {
	parts, _ := partsOfName(path)
	return parts.start
}
