// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// KindUnknown is the kind of a profile that nothing tells the kind of.
const KindUnknown exporter.Kind = "unknown"

// kindOf tells the kind of a profile by its sample types, and where these leave
// it open by its name, a file's or an address's: mutex and block profiles have
// the same types, and so have those of CPU time on and off the host's books.
func kindOf(p *profile.Profile, name string) exporter.Kind {
	has := func(names ...string) bool {
		return slices.ContainsFunc(p.SampleType, func(t *profile.ValueType) bool { return slices.Contains(names, t.Type) })
	}
	period := ""
	if p.PeriodType != nil {
		period = p.PeriodType.Type
	}
	switch {
	case has("wall", "time"): // time: of fgprof
		return exporter.KindWall
	case has("cpu"), has("samples") && (period == "cpu" || period == ""):
		if named(name, exporter.KindHost) {
			return exporter.KindHost
		}
		return exporter.KindCPU
	case has("inuse_space", "alloc_space", "inuse_objects", "alloc_objects"):
		return exporter.KindHeap
	case has("goroutine", "goroutines"):
		return exporter.KindGoroutine
	case has("contentions", "delay"):
		for _, kind := range []exporter.Kind{exporter.KindMutex, exporter.KindBlock} {
			if named(name, kind) || period == string(kind) {
				return kind
			}
		}
	}
	return KindUnknown
}

// named reports whether a word of the last part of name is the kind's. The
// service's name, before it in the names of exporter/file, may have such a word
// too, so only the last word that is a kind counts.
func named(name string, kind exporter.Kind) bool {
	words := strings.FieldsFunc(strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/"))), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for _, word := range slices.Backward(words) {
		switch exporter.Kind(word) {
		case exporter.KindCPU, exporter.KindHost, exporter.KindMutex, exporter.KindBlock:
			return exporter.Kind(word) == kind
		}
	}
	return false
}
