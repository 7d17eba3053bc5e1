// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

const (
	// maxKeptAnswers and maxKeptBytes bound the answers that are kept, the bytes as their
	// JSON has them. One alone may take a quarter.
	maxKeptAnswers = 64
	maxKeptBytes   = 4 << 20
)

// made is an answer before it is encoded. data is nil where resp is all of it.
type made struct {
	data   answer.Data
	format format
	resp   response
}

func (m made) response() (response, error) {
	if m.data == nil {
		return m.resp, nil
	}
	if m.format == formatText {
		return textResponse(m.data.Text()), nil
	}
	return jsonResponse(m.data)
}

// shared has the answers to the requests for one source: those that are being made, so
// that several clients wait for one, and those of the source's newest generation.
type shared struct {
	mu     sync.Mutex
	making map[string]*making
	// kept are the answers of a generation.
	generation string
	kept       map[string]made
	bytes      int
}

// making is an answer that is being made.
type making struct {
	// generation is that of the view, "" until it is open.
	generation string
	clients    int
	cancel     context.CancelFunc
	done       chan struct{}
	// What follows is there when done is closed.
	made     made
	err      error
	panicked any
}

// get returns the answer to a question: one that is kept, one that is being made, or a new
// one. now is the generation of the source. An answer that is being made will do if its
// view is of that generation, or is not open yet. makeIt tells opened the generation of its
// view, which returns an answer of that generation, if one is kept.
//
// It fails when ctx ends. What it was waiting for goes on as long as anybody waits.
func (s *shared) get(ctx context.Context, question, now string, makeIt func(ctx context.Context, opened func(generation string) (made, bool)) (m made, keep bool, err error)) (made, error) {
	s.mu.Lock()
	if m, ok := s.find(question, now); ok {
		s.mu.Unlock()
		return m, nil
	}
	f := s.making[question]
	if f == nil || f.generation != "" && f.generation != now {
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
		return made{}, ctx.Err()
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

func (s *shared) run(ctx context.Context, f *making, question string, makeIt func(context.Context, func(string) (made, bool)) (made, bool, error)) {
	defer func() {
		f.panicked = recover()
		s.mu.Lock()
		s.forget(question, f)
		s.mu.Unlock()
		f.cancel()
		close(f.done)
	}()
	opened := func(generation string) (made, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.generation = generation
		return s.find(question, generation)
	}
	m, keep, err := makeIt(ctx, opened)
	f.made, f.err = m, err
	if err == nil && keep {
		s.keep(question, f.generation, m)
	}
}

// forget takes an answer out of those that others may wait for.
func (s *shared) forget(question string, f *making) {
	if s.making[question] == f {
		delete(s.making, question)
	}
}

func (s *shared) find(question, generation string) (made, bool) {
	if generation != s.generation {
		return made{}, false
	}
	m, ok := s.kept[question]
	return m, ok
}

// keep keeps an answer, if it is small, for as long as the generation is the newest.
func (s *shared) keep(question, generation string, m made) {
	size := len(question) + len(m.resp.body)
	if m.data != nil {
		encoded, err := json.Marshal(m.data)
		if err != nil {
			return
		}
		size += len(encoded)
	}
	if size > maxKeptBytes/4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation != s.generation || len(s.kept) >= maxKeptAnswers || s.bytes+size > maxKeptBytes {
		s.generation, s.kept, s.bytes = generation, make(map[string]made), 0
	}
	if _, ok := s.kept[question]; !ok {
		s.kept[question] = m
		s.bytes += size
	}
}

// generationOf names a generation and what answers say of the profiler, but for what is
// new for each request.
func generationOf(n uint64, status *answer.Status) string {
	if status == nil {
		return strconv.FormatUint(n, 36)
	}
	lasting := *status
	lasting.Now, lasting.Counters = answer.Status{}.Now, nil
	encoded, err := json.Marshal(lasting)
	if err != nil {
		// Like no other.
		return fmt.Sprintf("%d %p", n, status)
	}
	return strconv.FormatUint(n, 36) + " " + string(encoded)
}
