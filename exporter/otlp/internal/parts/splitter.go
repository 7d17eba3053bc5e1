// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package parts cuts profiles into as many messages as the limits of OTLP servers ask
// for.
package parts

import (
	"fmt"

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
	if len(parsed.Sample) <= maxSamples {
		small, err := s.isSmall(p)
		if small || err != nil {
			return []*exporter.Profile{p}, err
		}
	}
	parts, err := s.Converter.Split(p, maxSamples, maxBytes)
	if err == nil {
		s.Reporter.Report(fmt.Errorf("%s: a %s profile of %d samples is split into %d: servers take %d samples and %d bytes at once", s.Name, p.Kind(), len(parsed.Sample), len(parts), maxSamples, maxBytes))
	}
	return parts, err
}

// isSmall reports whether the message of a profile has at most maxBytes.
func (s *Splitter) isSmall(p *exporter.Profile) (bool, error) {
	if data, err := p.Pprof(); err != nil || split.UncompressedSize(data) <= smallPprof {
		return err == nil, err
	}
	message, err := s.Converter.Request(p)
	return err == nil && proto.Size(message) <= maxBytes, err
}
