// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package handout hands the samples in an agent's messages to the programs that were measured.
// Each program gets its own samples, over HTTP on a unix socket.
//
// A program sends GET /samples again and again over one connection. The answer waits up to
// 20 s for a message: an OTLP ExportProfilesServiceRequest. Its dictionary has only the elements
// that the program's own samples refer to. 204 means that there was none. The header Spanprof-Agent
// differs between connections of agents. Spanprof-Lost has the number of samples that were lost since
// the answer before.
//
// The kernel reports which process connected (SO_PEERCRED, and SO_PEERPIDFD since Linux 6.5).
// Its start time, user and pidfd must still be the same when a message comes and before it
// is written. So a process with a reused id gets nothing of the process before. A process
// that passes its open connection to another one shares its samples.
package handout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

const (
	// maxMessage is the longest message, in bytes.
	maxMessage = 32 << 20
	// maxSubscribers is how many processes are served at once. A container may have a
	// quarter of them.
	maxSubscribers = 256
)

const (
	// hold is how long a request waits for a message.
	hold = 20 * time.Second

	path        = "/samples"
	agentHeader = "Spanprof-Agent"
	lostHeader  = "Spanprof-Lost"
)

// Status counts what a Server has done.
type Status struct {
	// Subscribers are the processes that are connected now.
	Subscribers int
	// Refused are connections that were closed: of ended processes, or of too many.
	Refused int
	// HandedOut and Lost are samples. Lost ones exceeded what may wait, or their process ended.
	HandedOut, Lost int
}

// Server hands each process its own samples. It is safe for concurrent use; the zero
// value is ready.
type Server struct {
	mu          sync.Mutex
	subscribers map[int64]*subscriber // by process id
	status      Status
}

// subscriber is a connected process. The server's lock guards what is below process.
type subscriber struct {
	*process
	conn    net.Conn
	queue   chan message // only push sends
	waiting int          // bytes, of the message that is being written too
	lost    int          // samples, since the last answer
	gone    bool
}

// Status returns what has been counted.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Subscribers = len(s.subscribers)
	return status
}

type subscriberKey struct{}

// Serve serves processes until ctx ends. Then it closes the listener and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.mu.Lock()
	s.subscribers = map[int64]*subscriber{}
	s.mu.Unlock()
	server := &http.Server{
		Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, WriteTimeout: 3 * hold, MaxHeaderBytes: 4 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, subscriberKey{}, s.add(conn))
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				s.closed(conn)
			}
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := errors.Join(server.Serve(l), server.Close())
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx is how serving ends
	}
	return err
}

// add begins to serve the process that connected. A process that connects again leaves its
// earlier connection, which it may have lost. add returns nil for a refused connection,
// which it closes.
func (s *Server) add(conn net.Conn) *subscriber {
	p, err := peerOf(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := &subscriber{process: p, conn: conn, queue: make(chan message, maxMessages)}
	if err == nil {
		if err = s.admit(sub); err != nil {
			p.close()
		}
	}
	if err != nil {
		s.status.Refused++
		// The buffer of a new socket has room for this.
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%v", len(err.Error()), err)
		_ = conn.Close()
		return nil
	}
	return sub
}

// admit adds a subscriber, unless there are too many. Others then have a smaller share. The
// caller holds the lock.
func (s *Server) admit(sub *subscriber) error {
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
	case len(s.subscribers) >= maxSubscribers:
		return fmt.Errorf("%d processes are connected already, which is the maximum", len(s.subscribers))
	case group >= maxSubscribers/4:
		return fmt.Errorf("%d processes of this control group are connected already, which is the maximum", group)
	}
	s.subscribers[sub.pid] = sub
	for _, other := range s.subscribers {
		for other.waiting > s.share() && s.loseOldest(other) {
		}
	}
	return nil
}

func (s *Server) closed(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subscribers {
		if sub.conn == conn {
			s.drop(sub)
		}
	}
}

// drop ends a subscriber. The caller holds the lock.
func (s *Server) drop(sub *subscriber) {
	if sub.gone {
		return
	}
	sub.gone = true
	for s.loseOldest(sub) {
	}
	delete(s.subscribers, sub.pid)
	_ = sub.conn.Close()
	sub.close()
}

// HandOut hands each subscriber its part of a message that came over a connection of an
// agent. It does not wait for them. An error means that the message breaks the format's
// rules; subscribers that this does not concern get their parts all the same.
func (s *Server) HandOut(agent string, m *collectorpb.ExportProfilesServiceRequest) error {
	s.mu.Lock()
	subscribers := slices.Collect(maps.Values(s.subscribers))
	s.mu.Unlock()
	var err error
	for _, sub := range subscribers {
		err = cmp.Or(err, s.handOut(sub, agent, m))
	}
	return err
}

func (s *Server) handOut(sub *subscriber, agent string, m *collectorpb.ExportProfilesServiceRequest) error {
	// The message is here. A process that is still the same was the same when the samples
	// were taken. Or they are from before its start.
	if !s.same(sub) {
		return nil
	}
	started, err := sub.started()
	if err != nil {
		return err
	}
	own, samples, err := part(m, sub.pid, started, sub.thread)
	if err != nil || own == nil {
		return err
	}
	body, err := proto.Marshal(own)
	if err != nil {
		return err
	}
	s.push(sub, message{agent, body, samples})
	return nil
}

// same reports whether a subscriber is still the process that connected. It drops others.
func (s *Server) same(sub *subscriber) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !sub.gone && sub.check() != nil {
		s.status.Refused++
		s.drop(sub)
	}
	return !sub.gone
}

// answer waits for a message for the connection's process, and writes it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	sub, _ := r.Context().Value(subscriberKey{}).(*subscriber)
	if sub == nil || r.URL.Path != path || r.Method != http.MethodGet {
		http.Error(w, "GET "+path+" only", http.StatusNotFound)
		return
	}
	m, lost := s.next(r.Context(), sub)
	written := false
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		sub.waiting -= len(m.body)
		if written {
			s.status.HandedOut += m.samples
		} else {
			s.status.Lost += m.samples
		}
	}()
	if !s.same(sub) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(lostHeader, strconv.Itoa(lost))
	if m.body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set(agentHeader, m.agent)
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Length", strconv.Itoa(len(m.body)))
	_, err := w.Write(m.body)
	written = err == nil && http.NewResponseController(w).Flush() == nil
}
