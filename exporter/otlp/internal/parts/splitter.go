// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package parts cuts profiles into as many messages as the limits of OTLP servers ask
// for.
package parts

import (
	"fmt"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/internal/report"
)

const (
	// maxBytes is of a message, uncompressed: gRPC servers take 4 MiB unless they
	// are told otherwise, and a Collector that takes more by HTTP has one behind
	// it as a rule. The rest is for what processors add on the way.
	maxBytes = 4<<20 - 64<<10
	// maxSamples is what Pyroscope takes.
	maxSamples = 16_000
	// maxStored is of the pprof forms, uncompressed, that Pyroscope makes of a message,
	// one for each type of sample. More than its -distributor.ingestion-burst-size-mb
	// at once it never takes: by HTTP it would be sent again until it is too old.
	maxStored = 2_000_000 - 64<<10
	// maxTypes is how many types of samples a profile of Go's has at most.
	maxTypes = 4
	// smallPprof is the size, uncompressed, of a pprof form whose message has fewer
	// than maxBytes: both have the same tables, samples and labels.
	smallPprof = maxBytes / 4
)

// Splitter cuts profiles, as an exporter.Destination does.
type Splitter struct {
	Name      string // in reports
	Converter *convert.Converter
	Reporter  report.Reporter
}

// Split returns p, the parts that servers take in its place, or nothing for a profile
// without samples, which some servers refuse.
func (s *Splitter) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return nil, err
	}
	if len(parsed.Sample) == 0 {
		return nil, nil
	}
	// What waits is bytes, or a file.
	if p, err = s.Converter.KeepTimes(p); err != nil {
		return nil, err
	}
	if parsed, err = p.Parsed(); err != nil {
		return nil, err
	}
	limit, small, err := s.limit(p)
	if err != nil || small && len(parsed.Sample) <= maxSamples {
		return []*exporter.Profile{p}, err
	}
	parts, err := s.cut(p, parsed, limit)
	if err == nil && len(parts) > 1 {
		s.Reporter.Report(fmt.Errorf("%s: a %s profile of %d samples is split into %d: servers take %d samples and %d bytes at once", s.Name, p.Kind(), len(parsed.Sample), len(parts), maxSamples, limit))
	}
	return parts, err
}

// limit returns how large the pprof form of p may be, and whether it and the message are
// small enough.
func (s *Splitter) limit(p *exporter.Profile) (limit int, small bool, err error) {
	data, err := p.Pprof()
	if err != nil {
		return 0, false, err
	}
	size := split.UncompressedSize(data)
	if size <= maxStored/maxTypes {
		return maxStored / maxTypes, true, nil
	}
	message, err := s.Converter.Request(p)
	if err != nil {
		return 0, false, err
	}
	types := 0
	for _, r := range message.ResourceProfiles {
		for _, scope := range r.ScopeProfiles {
			types += len(scope.Profiles)
		}
	}
	limit = maxStored / max(1, types)
	return limit, size <= int64(limit) && proto.Size(message) <= maxBytes, nil
}

// cut returns parts of p whose pprof forms are within the limit and whose messages have
// at most maxBytes.
func (s *Splitter) cut(p *exporter.Profile, parsed *profile.Profile, limit int) ([]*exporter.Profile, error) {
	parts, err := split.Profile(p, split.Pprof(parsed), split.Limits{Samples: maxSamples, Bytes: limit})
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		small, err := s.isSmall(part)
		if err != nil {
			return nil, err
		}
		if !small {
			return s.Converter.Split(p, maxSamples, maxBytes)
		}
	}
	return parts, nil
}

// isSmall reports whether the message of a profile has at most maxBytes.
func (s *Splitter) isSmall(p *exporter.Profile) (bool, error) {
	if data, err := p.Pprof(); err != nil || split.UncompressedSize(data) <= smallPprof {
		return err == nil, err
	}
	message, err := s.Converter.Request(p)
	return err == nil && proto.Size(message) <= maxBytes, err
}
