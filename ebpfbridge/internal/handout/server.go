// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Bounds on what waits, in bytes, and on who is served.
const (
	maxWaiting    = 8 << 20  // of one subscriber
	maxAllWaiting = 64 << 20 // of all of them
	// MaxSubscribers is how many processes are served at once. A container may have a
	// quarter of them.
	MaxSubscribers = 256
)

// drain is how long a subscriber may take to read what waits when serving ends.
const drain = time.Second

// Status counts what a Server has done.
type Status struct {
	// Subscribers are the processes that are connected now.
	Subscribers int
	// Refused are connections that were not served, or not any longer: of ended
	// processes, or of too many.
	Refused uint64
	// HandedOut and Lost are samples. Lost are those that did not fit in what may wait.
	HandedOut, Lost uint64
}

// Server hands each process its own samples. It is safe for concurrent use; the zero
// value is ready.
type Server struct {
	mu          sync.Mutex
	subscribers map[int64]*subscriber // by process id
	waiting     int64
	ending      bool
	status      Status
}

// Status returns what has been counted.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Subscribers = len(s.subscribers)
	return status
}

// Serve serves those who connect until ctx ends. It closes the listener, gives the
// subscribers a second to read what waits, and returns nil.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	var serving sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var err error
	for {
		var conn *net.UnixConn
		if conn, err = l.AcceptUnix(); err != nil {
			break
		}
		serving.Go(func() { s.serve(conn) })
	}
	if ctx.Err() != nil {
		err = nil
	} else {
		err = errors.Join(err, l.Close())
	}
	s.end()
	serving.Wait()
	return err
}

// end has all subscribers end soon.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	for _, sub := range s.subscribers {
		sub.ending = true
		_ = sub.conn.SetWriteDeadline(time.Now().Add(drain))
		sub.changed()
	}
}

func (s *Server) serve(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	if err := greet(conn); err != nil {
		return
	}
	p, err := peerOf(conn)
	if err != nil {
		s.refused(conn, err)
		return
	}
	defer p.close()
	sub := &subscriber{process: p, conn: conn, more: make(chan struct{}, 1)}
	if err := s.add(sub); err != nil {
		s.refused(conn, err)
		return
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		// It ends with the connection. There is nothing to read: a byte ends it too.
		_, _ = conn.Read(make([]byte, 1))
		s.remove(sub)
	})
	s.write(sub)
	s.remove(sub)
	_ = conn.Close()
	reading.Wait()
}

func (s *Server) refused(conn *net.UnixConn, why error) {
	s.mu.Lock()
	s.status.Refused++
	s.mu.Unlock()
	refuse(conn, why.Error())
}

// add begins to serve a subscriber. A process that connects again leaves its earlier
// connection, which it may have lost.
func (s *Server) add(sub *subscriber) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errors.New("hostview is ending")
	}
	if before := s.subscribers[sub.pid]; before != nil {
		s.drop(before)
	}
	group := 0
	for _, other := range s.subscribers {
		if other.group == sub.group {
			group++
		}
	}
	switch {
	case len(s.subscribers) >= MaxSubscribers:
		return fmt.Errorf("%d processes are connected already, which is the most", len(s.subscribers))
	case group >= MaxSubscribers/4:
		return fmt.Errorf("%d processes of this control group are connected already, which is the most", group)
	}
	if s.subscribers == nil {
		s.subscribers = map[int64]*subscriber{}
	}
	s.subscribers[sub.pid] = sub
	sub.changed()
	return nil
}

func (s *Server) remove(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(sub)
}

// drop ends a subscriber. The caller holds the lock.
func (s *Server) drop(sub *subscriber) {
	if sub.gone {
		return
	}
	sub.gone = true
	for _, f := range sub.queue {
		s.status.Lost += f.samples
	}
	s.waiting -= sub.waiting
	sub.queue, sub.waiting = nil, 0
	if s.subscribers[sub.pid] == sub {
		delete(s.subscribers, sub.pid)
	}
	_ = sub.conn.SetWriteDeadline(time.Now()) // ends a Write
	sub.changed()
}
