// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package parts sends profiles in as many requests as the limits of servers ask for.
package parts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/internal/handoff"
)

const (
	// maxBytes is of a message, uncompressed: gRPC servers take 4 MiB unless they
	// are told otherwise, and a Collector that takes more by HTTP has one behind
	// it as a rule. The rest is for what processors add on the way.
	maxBytes = 4<<20 - 64<<10
	// maxSamples is what Pyroscope takes.
	maxSamples = 16_000
	// maxBegun is how many profiles may be sent in part. The queue in front of a
	// Sender goes from one to the next only where one fails again and again.
	maxBegun = 16
)

// Sender sends profiles, one request each if that is small enough.
type Sender struct {
	name      string
	converter *convert.Converter
	request   func(context.Context, *collectorpb.ExportProfilesServiceRequest) error

	reporter handoff.Reporter
	said     sync.Once // guards the report of a profile that was split
	empty    atomic.Uint64

	mu    sync.Mutex
	begun map[[sha256.Size]byte]progress // by the pprof form
}

// progress is how far a profile has come whose last attempt is to be repeated.
type progress struct {
	parts    int   // that the server has answered
	rejected error // those of them that it will never take
}

// New returns a Sender that makes requests by the given function. The name goes
// into reports.
func New(name string, c *convert.Converter, request func(context.Context, *collectorpb.ExportProfilesServiceRequest) error) *Sender {
	return &Sender{name: name, converter: c, request: request, begun: map[[sha256.Size]byte]progress{}}
}

// Empty returns how many profiles there were without samples.
func (s *Sender) Empty() uint64 { return s.empty.Load() }

// Wait gives the error handler a moment for what was reported.
func (s *Sender) Wait(ctx context.Context) { s.reporter.Wait(ctx) }

// Send makes one attempt, as an exporter.Destination does. It returns nil when the
// server has every part: after an error that is to be repeated, the next attempt
// begins with the part that failed. A part that the server rejects does not keep it
// from the others.
//
// A profile without samples is counted, and not sent: it says nothing, and there
// are servers that refuse it.
func (s *Sender) Send(ctx context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err == nil && len(parsed.Sample) == 0 {
		s.empty.Add(1)
		return nil
	}
	if err != nil || len(parsed.Sample) <= maxSamples {
		message, err := s.converter.Request(p)
		if err != nil {
			return err
		}
		if proto.Size(message) <= maxBytes {
			return s.request(ctx, message)
		}
	}
	parts, err := s.converter.Split(p, maxSamples, maxBytes)
	if err != nil {
		return err
	}
	s.said.Do(func() { //nolint:contextcheck // the report may outlive the attempt
		s.reporter.Report(fmt.Errorf("%s: a %s profile of %d samples is split into %d: servers take %d samples and %d bytes at once (this is said once)", s.name, p.Kind(), len(parsed.Sample), len(parts), maxSamples, maxBytes))
	})
	data, err := p.Pprof()
	if err != nil {
		return err
	}
	return s.sendParts(ctx, sha256.Sum256(data), parts)
}

func (s *Sender) sendParts(ctx context.Context, key [sha256.Size]byte, parts []*exporter.Profile) error {
	done := s.take(key)
	for _, part := range parts[done.parts:] {
		message, err := s.converter.Request(part)
		if err == nil {
			err = s.request(ctx, message)
		}
		if _, again := errors.AsType[*exporter.RetryError](err); again || err != nil && ctx.Err() != nil {
			s.keep(key, done)
			return err
		}
		done.rejected = errors.Join(done.rejected, err)
		done.parts++
	}
	return done.rejected
}

// take returns the progress of a profile, and forgets it.
func (s *Sender) take(key [sha256.Size]byte) progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.begun[key]
	delete(s.begun, key)
	return p
}

func (s *Sender) keep(key [sha256.Size]byte, p progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.begun { // any: those that the queue has dropped stay here
		if len(s.begun) < maxBegun {
			break
		}
		delete(s.begun, other)
	}
	s.begun[key] = p
}
