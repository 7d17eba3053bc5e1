// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import "context"

// Bounds on the messages that wait. Each subscriber has the same part of all bytes.
const (
	maxMessages   = 64
	maxWaiting    = 8 << 20 // bytes
	maxAllWaiting = 64 << 20
)

// message is a subscriber's part of an agent's message.
type message struct {
	agent   string
	body    []byte
	samples int
}

// share is how many bytes may wait for a subscriber. The caller holds the lock.
func (s *Server) share() int { return min(maxWaiting, maxAllWaiting/len(s.subscribers)) }

// push adds a message to those that wait for a subscriber. The oldest are dropped for it.
func (s *Server) push(sub *subscriber, m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.gone {
		return
	}
	for sub.waiting+len(m.body) > s.share() || len(sub.queue) == maxMessages {
		if !s.loseOldest(sub) {
			s.lose(sub, m) // it is too large itself, or beside what is being written
			return
		}
	}
	sub.queue <- m
	sub.waiting += len(m.body)
}

// loseOldest drops the oldest message. It returns false if there is none.
func (s *Server) loseOldest(sub *subscriber) bool {
	select {
	case m := <-sub.queue:
		sub.waiting -= len(m.body)
		s.lose(sub, m)
		return true
	default:
		return false
	}
}

func (s *Server) lose(sub *subscriber, m message) {
	sub.lost += m.samples
	s.status.Lost += m.samples
}

// next waits for a message. It returns one without a body if there is none. lost are the samples
// that the subscriber has lost since the last call.
func (s *Server) next(ctx context.Context, sub *subscriber) (m message, lost int) {
	ctx, cancel := context.WithTimeout(ctx, hold)
	defer cancel()
	select {
	case m = <-sub.queue:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lost, sub.lost = sub.lost, 0
	return m, lost
}
