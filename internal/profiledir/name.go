// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profiledir names the files of profiles, and reads such names.
package profiledir

import (
	"path/filepath"
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
	// maxPart leaves a name within the 255 bytes of most file systems.
	maxPart = 100

	unknownService = "unknown_service"
)

// Name returns the name for the n-th file, from 0, of a profile that began at start:
//
//	20260102T150405.000000000Z-checkout-cpu.pprof.gz
//
// Names sort by time.
func Name(p *exporter.Profile, start time.Time, n int) string {
	service, _ := p.Resource().Set().Value(attribute.Key("service.name"))
	name := start.UTC().Format(timeFormat) + "-" + clean(service.AsString(), unknownService) + "-"
	if n > 0 {
		name += strconv.Itoa(n) + "-"
	}
	return name + clean(string(p.Kind()), "unknown") + suffix
}

// Parts are what Name puts into a name.
type Parts struct {
	Start time.Time
	// Service is empty where the profile had none.
	Service string
	Kind    exporter.Kind
}

// Parse returns the parts of a name, if it is one that Name gives.
func Parse(name string) (Parts, bool) {
	name, isProfile := strings.CutSuffix(filepath.Base(name), suffix)
	stamp, rest, _ := strings.Cut(name, "-")
	start, err := time.Parse(timeFormat, stamp)
	i := strings.LastIndexByte(rest, '-')
	if err != nil || !isProfile || i < 0 {
		return Parts{}, false
	}
	parts := Parts{Start: start, Service: rest[:i], Kind: exporter.Kind(rest[i+1:])}
	if parts.Service == unknownService {
		parts.Service = ""
	}
	return parts, true
}

// Plain replaces each character of s that is not fit for the name of a file.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, s)
}

func clean(s, empty string) string {
	s = Plain(s)
	if s == "" {
		return empty
	}
	return s[:min(len(s), maxPart)]
}
