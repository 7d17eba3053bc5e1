// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import "context"

// Bounds on the messages that wait, in bytes.
const (
	maxWaiting    = 8 << 20  // of one subscriber
	maxAllWaiting = 64 << 20 // of all of them
)

// message is a subscriber's part of an agent's message.
type message struct {
	agent   string
	body    []byte
	samples int
}

// push adds a message to those that wait for a subscriber. The oldest are dropped for it.
func (s *Server) push(sub *subscriber, m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.gone {
		return
	}
	sub.queue = append(sub.queue, m)
	sub.waiting += len(m.body)
	s.waiting += len(m.body)
	for sub.waiting > maxWaiting && len(sub.queue) > 0 {
		s.loseOldest(sub)
	}
	for s.waiting > maxAllWaiting {
		most := sub
		for _, other := range s.subscribers {
			if len(other.queue) > 0 && other.waiting > most.waiting {
				most = other
			}
		}
		if len(most.queue) == 0 {
			break
		}
		s.loseOldest(most)
	}
	sub.changed()
}

func (s *Server) loseOldest(sub *subscriber) {
	m := sub.queue[0]
	sub.queue = sub.queue[1:]
	s.free(sub, m)
	sub.lost += m.samples
	s.status.Lost += m.samples
	sub.changed()
}

func (s *Server) free(sub *subscriber, m message) {
	sub.waiting -= len(m.body)
	s.waiting -= len(m.body)
}

func (s *subscriber) changed() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// next waits for a message. It returns one without a body if there is none.
func (s *Server) next(ctx context.Context, sub *subscriber) (m message, lost int) {
	ctx, cancel := context.WithTimeout(ctx, hold)
	defer cancel()
	for waiting := true; ; {
		s.mu.Lock()
		if len(sub.queue) > 0 || sub.lost > 0 || sub.gone || !waiting {
			if len(sub.queue) > 0 {
				m, sub.queue = sub.queue[0], sub.queue[1:]
			}
			lost, sub.lost = sub.lost, 0
			s.mu.Unlock()
			return m, lost
		}
		s.mu.Unlock()
		select {
		case <-sub.more:
		case <-ctx.Done():
			waiting = false
		}
	}
}
