// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"net"
	"time"
)

// subscriber is a process that is connected. The server's lock guards what is below it.
type subscriber struct {
	*process
	conn *net.UnixConn

	queue   []frame
	waiting int64         // bytes, of the frame that is being written too
	lost    uint64        // samples
	told    uint64        // of lost
	more    chan struct{} // has room for one: something has changed
	ending  bool          // write what waits, and end
	gone    bool
}

// frame is a message that waits.
type frame struct {
	agent   uint64
	message []byte
	samples uint64
}

func (f frame) bytes() int64 { return headerSize + int64(len(f.message)) }

func (s *subscriber) changed() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// next waits for the next frame to write, and returns it with how many samples were
// lost; false when it is time to end. A frame without a message tells that alone.
func (s *Server) next(sub *subscriber) (f frame, lost uint64, ok bool) {
	for range sub.more {
		s.mu.Lock()
		f, ok, wait := s.first(sub)
		lost := sub.lost
		s.mu.Unlock()
		if !wait {
			return f, lost, ok
		}
	}
	return frame{}, 0, false
}

func (s *Server) first(sub *subscriber) (f frame, ok, wait bool) {
	switch {
	case sub.gone:
		return frame{}, false, false
	case len(sub.queue) > 0:
		f = sub.queue[0]
		sub.queue = sub.queue[1:]
	case sub.told == sub.lost:
		return frame{}, false, !sub.ending
	}
	sub.told = sub.lost
	return f, true, false
}

// write writes what comes for a subscriber until it ends, or the subscriber does.
func (s *Server) write(sub *subscriber) {
	for {
		f, lost, ok := s.next(sub)
		if !ok {
			return
		}
		err := sub.check()
		if err == nil {
			h := header{Kind: kindMessage, Length: uint32(len(f.message)), Agent: f.agent, Lost: lost}
			buffers := net.Buffers{h.append(nil), f.message}
			_, err = buffers.WriteTo(sub.conn)
		}
		s.written(sub, f, err)
		if err != nil {
			return
		}
	}
}

// written frees the room of a frame, and wakes the writer for the next one.
func (s *Server) written(sub *subscriber, f frame, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.status.Lost += f.samples
		return
	}
	s.status.HandedOut += f.samples
	if f.message != nil && !sub.gone {
		sub.waiting -= f.bytes()
		s.waiting -= f.bytes()
	}
	sub.changed()
}

// greet begins the stream, before anything can end it: whoever connects can tell what
// answers from what does not.
func greet(conn *net.UnixConn) error {
	_, err := conn.Write([]byte(hello)) // the socket's buffer is empty, and has room for it
	return err
}

// refuse tells a program why it is not served.
func refuse(conn *net.UnixConn, why string) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	h := header{Kind: kindRefusal, Length: uint32(len(why))}
	_, _ = conn.Write(append(h.append(nil), why...))
}
