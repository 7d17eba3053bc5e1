// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import "context"

// Bounds on the messages that wait, in bytes. Each subscriber has the same part of all.
const (
	maxWaiting    = 8 << 20
	maxAllWaiting = 128 << 20
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
	for most := min(maxWaiting, maxAllWaiting/len(s.subscribers)); sub.waiting > most && len(sub.queue) > 0; {
		s.loseOldest(sub)
	}
	sub.changed()
}

func (s *Server) loseOldest(sub *subscriber) {
	m := sub.queue[0]
	sub.queue = sub.queue[1:]
	sub.waiting -= len(m.body)
	sub.lost += m.samples
	s.status.Lost += m.samples
	sub.changed()
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
