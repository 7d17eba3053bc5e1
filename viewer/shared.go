// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

const (
	// maxKeptAnswers and maxKeptBytes bound the answers that are kept. One alone may take
	// a quarter of the bytes.
	maxKeptAnswers = 64
	maxKeptBytes   = 4 << 20
)

// made is an answer, encoded once for all clients.
type made struct {
	response
	// status is what the answer tells of the profiler, nil for nothing. It is not in the
	// response: each client is told how the profiler is now.
	status *answer.Status
	// lasts says that the answer stays the same while spans run.
	lasts bool
}

// to returns the response to a client that asks when the profiler's status is now.
func (m *made) to(now *answer.Status) (response, error) {
	if m.status == nil {
		return m.response, nil
	}
	status, err := json.Marshal(m.status.Renewed(now))
	if err != nil {
		return response{}, fmt.Errorf("encode: %w", err)
	}
	resp := m.response
	// The other members follow: every answer has some. Clients share their bytes.
	resp.head = slices.Concat([]byte(`{"status":`), status, []byte(","))
	resp.body = resp.body[1:]
	return resp, nil
}

// generational is implemented by a source whose answers may be kept, and by its views.
type generational interface{ Generation() uint64 }

// generation is what an answer depends on beside its question.
type generation struct {
	// n is that of the source, which only goes up.
	n uint64
	// status is what answers say of the profiler, but for what is new for each request.
	status string
}

// generationOf returns a generation of the source and the profiler.
func generationOf(n uint64, status *answer.Status) generation {
	if status == nil {
		return generation{n: n}
	}
	lasting := *status
	lasting.Now, lasting.Counters = answer.Status{}.Now, nil
	encoded, err := json.Marshal(lasting)
	if err != nil {
		// Like no other.
		return generation{n, fmt.Sprintf("%p", status)}
	}
	return generation{n, string(encoded)}
}

// serves reports whether an answer of g will do for a client that asks at another one.
func (g generation) serves(now generation) bool { return g.n > now.n || g == now }

// shared has the answers to the requests for one source: those that are being made, so
// that several clients wait for one, and those of the source's newest generation.
type shared struct {
	mu     sync.Mutex
	making map[string]*making
	// kept are the answers of the newest generation that is known.
	generation generation
	kept       map[string]*made
	bytes      int
}

// making is an answer that is being made.
type making struct {
	// generation is that of the view, once it is open.
	generation generation
	opened     bool
	clients    int
	cancel     context.CancelFunc
	done       chan struct{}
	// What follows is there when done is closed.
	made     *made
	err      error
	panicked any
}

// opener is told the generation of a view that has been opened, and returns an answer that
// will do for it, nil if none is kept.
type opener func(generation) *made

// get returns the answer to a question: one that is kept, one that is being made, or a new
// one. now is the generation of the source. An answer that is being made will do if its
// view is not older, or is not open yet.
//
// It fails when ctx ends. What it was waiting for goes on as long as anybody waits.
func (s *shared) get(ctx context.Context, question string, now generation, makeIt func(context.Context, opener) (m *made, keep bool, err error)) (*made, error) {
	s.mu.Lock()
	if now.n >= s.generation.n {
		s.advance(now)
	}
	if m := s.find(question, now); m != nil {
		s.mu.Unlock()
		return m, nil
	}
	f := s.making[question]
	if f == nil || f.opened && !f.generation.serves(now) {
		// A client that has gone away is no reason to stop for the others.
		making, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = s.start(question, cancel)
		go s.run(making, f, question, makeIt)
	}
	f.clients++
	s.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.clients--; f.clients == 0 {
			f.cancel()
			// The next client needs one that goes on.
			s.forget(question, f)
		}
		return nil, ctx.Err()
	}
	if f.panicked != nil {
		// As if this request had made it.
		panic(f.panicked)
	}
	return f.made, f.err
}

func (s *shared) start(question string, cancel context.CancelFunc) *making {
	f := &making{cancel: cancel, done: make(chan struct{})}
	if s.making == nil {
		s.making = make(map[string]*making)
	}
	s.making[question] = f
	return f
}

func (s *shared) run(ctx context.Context, f *making, question string, makeIt func(context.Context, opener) (*made, bool, error)) {
	defer func() {
		f.panicked = recover()
		s.mu.Lock()
		s.forget(question, f)
		s.mu.Unlock()
		f.cancel()
		close(f.done)
	}()
	opened := func(of generation) *made {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.generation, f.opened = of, true
		return s.find(question, of)
	}
	m, keep, err := makeIt(ctx, opened)
	f.made, f.err = m, err
	if err == nil && keep && f.opened {
		s.keep(question, f.generation, m)
	}
}

// forget takes an answer out of those that others may wait for.
func (s *shared) forget(question string, f *making) {
	if s.making[question] == f {
		delete(s.making, question)
	}
}

// find returns an answer that is kept and will do, nil for none.
func (s *shared) find(question string, now generation) *made {
	if !s.generation.serves(now) {
		return nil
	}
	return s.kept[question]
}

// advance makes a generation the one whose answers are kept.
func (s *shared) advance(to generation) {
	if to != s.generation {
		s.generation, s.kept, s.bytes = to, nil, 0
	}
}

// keep keeps an answer, if it is small, for as long as its generation is the newest. One of
// an older generation leaves those that are kept as they are.
func (s *shared) keep(question string, of generation, m *made) {
	size := len(question) + cap(m.body)
	if m.status != nil {
		size += len(of.status)
	}
	if size > maxKeptBytes/4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.n > s.generation.n {
		s.advance(of)
	}
	if of != s.generation || s.kept[question] != nil {
		return
	}
	if s.kept == nil || len(s.kept) >= maxKeptAnswers || s.bytes+size > maxKeptBytes {
		s.kept, s.bytes = make(map[string]*made), 0
	}
	s.kept[question] = m
	s.bytes += size
}
