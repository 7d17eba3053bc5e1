// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// HandOut hands each subscriber its part of a message that came over a connection of an
// agent. It does not wait for them. An error means that the message breaks the format's
// rules; others than the subscriber concerned have theirs all the same.
func (s *Server) HandOut(connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	s.mu.Lock()
	subscribers := slices.SortedFunc(maps.Values(s.subscribers), func(a, b *subscriber) int { return cmp.Compare(a.pid, b.pid) })
	s.mu.Unlock()
	var first error
	for _, sub := range subscribers {
		if err := s.handOut(sub, agentOf(connection), m); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// agentOf returns a number that tells connections apart, and nothing else about them.
func agentOf(connection string) uint64 {
	sum := sha256.Sum256([]byte(connection))
	return binary.BigEndian.Uint64(sum[:])
}

func (s *Server) handOut(sub *subscriber, agent uint64, m *collectorpb.ExportProfilesServiceRequest) error {
	// The message is here. A process that is still the one that connected was it when
	// the samples were taken, or they are from before its start.
	if err := sub.check(); err != nil {
		s.mu.Lock()
		if !sub.gone {
			s.status.Refused++
		}
		s.drop(sub)
		s.mu.Unlock()
		return nil //nolint:nilerr // that a process has ended is not the message's fault
	}
	started, err := sub.started()
	if err != nil {
		return err
	}
	own, samples, err := part(m, sub.pid, started)
	if err != nil || own == nil {
		return err
	}
	b, err := proto.Marshal(own)
	if err != nil {
		return err
	}
	s.push(sub, frame{agent, b, samples})
	return nil
}

// push lets a frame wait for the subscriber. The oldest make room.
func (s *Server) push(sub *subscriber, f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.gone {
		return
	}
	defer sub.changed()
	if f.bytes() > maxWaiting {
		s.lose(sub, f)
		return
	}
	sub.queue = append(sub.queue, f)
	sub.waiting += f.bytes()
	s.waiting += f.bytes()
	for sub.waiting > maxWaiting && len(sub.queue) > 1 {
		s.loseOldest(sub)
	}
	for s.waiting > maxAllWaiting {
		most := s.slowest()
		if most == nil {
			return
		}
		s.loseOldest(most)
	}
}

// slowest returns the subscriber for which most waits, nil if nothing can make room.
func (s *Server) slowest() *subscriber {
	var most *subscriber
	for _, sub := range s.subscribers {
		if len(sub.queue) > 0 && (most == nil || sub.waiting > most.waiting) {
			most = sub
		}
	}
	return most
}

func (s *Server) loseOldest(sub *subscriber) {
	f := sub.queue[0]
	sub.queue = sub.queue[1:]
	sub.waiting -= f.bytes()
	s.waiting -= f.bytes()
	s.lose(sub, f)
	sub.changed()
}

func (s *Server) lose(sub *subscriber, f frame) {
	sub.lost += f.samples
	s.status.Lost += f.samples
}
