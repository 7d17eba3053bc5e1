// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
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

// split returns profiles within the limits of the server that have the samples
// of p: p itself as a rule. parsed is the parsed form of p.
func split(p *exporter.Profile, parsed *profile.Profile) ([]*exporter.Profile, error) {
	data, err := p.Pprof()
	if err != nil {
		return nil, err
	}
	if len(parsed.Sample) <= maxSamples && size(data) <= maxSize {
		return []*exporter.Profile{p}, nil
	}
	own, err := profile.ParseData(data) // parsed is shared, and encoding changes it
	if err != nil {
		return nil, err
	}
	if own.TimeNanos == 0 {
		own.TimeNanos = p.Start().UnixNano()
	}
	_, shared, err := withSamples(own, nil)
	if err != nil {
		return nil, err
	}
	if shared > maxSize {
		return []*exporter.Profile{p}, nil // for the server to refuse once, not each sample
	}
	pieces, err := halve(own, own.Sample, nil)
	if err != nil {
		return nil, err
	}
	parts := make([]*exporter.Profile, len(pieces))
	for i, piece := range pieces {
		later := time.Duration(i) * time.Millisecond
		piece.TimeNanos += int64(later)
		var b bytes.Buffer
		if err := piece.Write(&b); err != nil {
			return nil, err
		}
		parts[i] = exporter.NewProfile(exporter.Window{
			Kind:     p.Kind(),
			Start:    p.Start().Add(later),
			Duration: p.Duration(),
			Resource: p.Resource(),
		}, b.Bytes())
	}
	return parts, nil
}

// halve appends to pieces profiles of the given samples of p that are within the
// limits. A single sample that is not stays as it is: the server says so.
func halve(p *profile.Profile, samples []*profile.Sample, pieces []*profile.Profile) ([]*profile.Profile, error) {
	if len(samples) <= maxSamples {
		whole, n, err := withSamples(p, samples)
		if err != nil {
			return nil, err
		}
		if n <= maxSize || len(samples) <= 1 {
			return append(pieces, whole), nil
		}
	}
	half := len(samples) / 2
	pieces, err := halve(p, samples[:half], pieces)
	if err != nil {
		return nil, err
	}
	return halve(p, samples[half:], pieces)
}

// withSamples returns p with these samples alone, without the functions of the others,
// and its uncompressed size.
func withSamples(p *profile.Profile, samples []*profile.Sample) (*profile.Profile, int, error) {
	compact := (&profile.Profile{
		SampleType:        p.SampleType,
		DefaultSampleType: p.DefaultSampleType,
		Sample:            samples,
		Mapping:           p.Mapping,
		Location:          p.Location,
		Function:          p.Function,
		Comments:          p.Comments,
		DocURL:            p.DocURL,
		DropFrames:        p.DropFrames,
		KeepFrames:        p.KeepFrames,
		TimeNanos:         p.TimeNanos,
		DurationNanos:     p.DurationNanos,
		PeriodType:        p.PeriodType,
		Period:            p.Period,
	}).Compact()
	var b bytes.Buffer
	err := compact.WriteUncompressed(&b)
	return compact, b.Len(), err
}

// size returns the uncompressed size of a pprof form: what the trailer of gzip
// states, if it is gzipped (RFC 1952, 2.3.1).
func size(data []byte) int64 {
	if len(data) < 18 || data[0] != 0x1f || data[1] != 0x8b {
		return int64(len(data))
	}
	return int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
}

// foreignID returns a profile_id that is not 16 hex digits, if there is one.
func foreignID(p *profile.Profile) (string, bool) {
	for _, s := range p.Sample {
		for _, id := range s.Label[labelkey.ProfileID] {
			if !isSpanID(id) {
				return id, true
			}
		}
	}
	return "", false
}

func isSpanID(s string) bool {
	if len(s) != 16 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}
