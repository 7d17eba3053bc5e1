// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
)

// The limits of a profile, by the server's defaults.
const (
	// maxSamples is -validation.max-profile-stacktrace-samples.
	maxSamples = 16_000
	// maxSize is of the uncompressed form. A push that is larger than
	// -distributor.ingestion-burst-size-mb is never taken, half of what
	// -validation.max-profile-size-bytes allows. The labels of the series
	// count too: 30, with names of 1,024 bytes and values of 2,048 at most.
	maxSize = 2<<20 - 128<<10
)

// parts returns profiles within the limits of the server that have the samples
// of p: p itself as a rule. parsed is the parsed form of p, and valid.
func parts(p *exporter.Profile, parsed *profile.Profile) []*exporter.Profile {
	data, err := p.Pprof()
	if err != nil || len(parsed.Sample) <= maxSamples && split.UncompressedSize(data) <= maxSize {
		return []*exporter.Profile{p}
	}
	parts, err := split.Profile(p, split.Pprof(parsed), split.Limits{Samples: maxSamples, Bytes: maxSize})
	if err != nil {
		return []*exporter.Profile{p}
	}
	return parts
}
