// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// countedSource is a store that counts selections. They last until release is closed.
type countedSource struct {
	*store.Store
	release  chan struct{}
	selected atomic.Int64
	ended    atomic.Int64
}

func (s *countedSource) View(ctx context.Context) (store.View, error) {
	v, err := s.Store.View(ctx)
	return &countedView{v, v.(store.Live), s, ctx}, err
}

type countedView struct {
	store.View
	store.Live
	source *countedSource
	ctx    context.Context
}

func (v *countedView) Select(q store.Query) (*store.Selection, error) {
	v.source.selected.Add(1)
	select {
	case <-v.source.release:
	case <-v.ctx.Done():
		v.source.ended.Add(1)
		return nil, v.ctx.Err()
	}
	return v.View.Select(q)
}

// selections returns how many selections one answer takes.
func selections(t *testing.T, s *store.Store, address string) int64 {
	source := &countedSource{Store: s, release: make(chan struct{})}
	close(source.release)
	if w := get(t, viewer.Handler(source), address); w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d", address, w.Code)
	}
	return source.selected.Load()
}

// Clients that ask the same at once wait for one answer, which one of them that leaves
// does not end for the others. It is kept until the source changes.
func TestAnswersAreShared(t *testing.T) {
	s := newTestStore(t)
	address := target("/", "query", ".cpu", "format", "json")
	one := selections(t, s, address)
	synctest.Test(t, func(t *testing.T) {
		source := &countedSource{Store: s, release: make(chan struct{})}
		h := viewer.Handler(source)
		const clients = 20
		answers := make(chan *httptest.ResponseRecorder, clients)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan int)
		go func() {
			left <- do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil)).Code
		}()
		synctest.Wait()
		for range clients {
			go func() { answers <- get(t, h, address) }()
		}
		synctest.Wait()
		leave()
		if code := <-left; code != http.StatusServiceUnavailable {
			t.Errorf("the client that left: status %d", code)
		}
		synctest.Wait()
		close(source.release)
		var first []byte
		for range clients {
			w := <-answers
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if first == nil {
				first = w.Body.Bytes()
			}
			if !bytes.Equal(first, w.Body.Bytes()) {
				t.Error("two answers differ")
			}
		}
		if got := source.selected.Load(); got != one || source.ended.Load() != 0 {
			t.Errorf("%d selections, %d of them ended early, want %d", got, source.ended.Load(), one)
		}
		if w := get(t, h, address); !bytes.Equal(w.Body.Bytes(), first) || source.selected.Load() != one {
			t.Errorf("asked again: %d selections, want %d", source.selected.Load(), one)
		}
		exportSecond(t, s, 10, newProfileBuilder())
		if w := get(t, h, address); bytes.Equal(w.Body.Bytes(), first) || source.selected.Load() != 2*one {
			t.Errorf("after a profile: %d selections, want %d, and another answer", source.selected.Load(), 2*one)
		}
	})
}

// An answer that nobody waits for any more ends.
func TestAnswerOfNobodyEnds(t *testing.T) {
	s := newTestStore(t)
	synctest.Test(t, func(t *testing.T) {
		source := &countedSource{Store: s, release: make(chan struct{})}
		h := viewer.Handler(source)
		address := target("/", "query", ".cpu", "format", "json")
		ctx, leave := context.WithCancel(t.Context())
		for range 3 {
			go do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil))
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if source.ended.Load() != 1 {
			t.Errorf("%d selections ended, want 1", source.ended.Load())
		}
		// The next client does not get what was ended.
		close(source.release)
		if w := get(t, h, address); w.Code != http.StatusOK {
			t.Errorf("the next client: status %d: %s", w.Code, w.Body)
		}
	})
}

// A kept answer tells how the profiler is now.
func TestKeptAnswersTellTheStatus(t *testing.T) {
	s := newTestStore(t)
	var n atomic.Uint64
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
		return viewer.Status{Running: true, Counters: []viewer.Counter{{Name: "asked", Value: n.Add(1)}}}
	}))
	seen := map[string]bool{}
	for range 5 {
		w := get(t, h, target("/", "query", ".cpu", "format", "json"))
		seen[w.Body.String()] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d different answers of 5: the counter is not new", len(seen))
	}
}

// Many different questions do not fill the memory: the answers that are kept are few.
func TestKeptAnswersAreBounded(t *testing.T) {
	s := newTestStore(t)
	source := &countedSource{Store: s, release: make(chan struct{})}
	close(source.release)
	h := viewer.Handler(source)
	for i := range 200 {
		get(t, h, target("/", "query", fmt.Sprintf(`.cpu{span_name!="none%d"}`, i), "format", "json"))
	}
	before := source.selected.Load()
	get(t, h, target("/", "query", `.cpu{span_name!="none0"}`, "format", "json"))
	if source.selected.Load() == before {
		t.Error("the first of 200 answers is still kept")
	}
}

// lastingSource is a store whose first selection lasts until release is closed. It counts
// the others.
type lastingSource struct {
	*store.Store
	lasting atomic.Bool
	release chan struct{}
	others  atomic.Int64
}

func (s *lastingSource) View(ctx context.Context) (store.View, error) {
	v, err := s.Store.View(ctx)
	return &lastingView{v, v.(store.Live), s}, err
}

type lastingView struct {
	store.View
	store.Live
	source *lastingSource
}

func (v *lastingView) Select(q store.Query) (*store.Selection, error) {
	if v.source.lasting.CompareAndSwap(false, true) {
		<-v.source.release
	} else {
		v.source.others.Add(1)
	}
	return v.View.Select(q)
}

// An answer of an older generation, which comes late, leaves what is kept of the newest.
func TestLateAnswersLeaveWhatIsKept(t *testing.T) {
	s := newTestStore(t)
	synctest.Test(t, func(t *testing.T) {
		source := &lastingSource{Store: s, release: make(chan struct{})}
		h := viewer.Handler(source)
		// Queries for one id do not wait for each other.
		late, kept := target("/", "query", byID(slowID), "format", "json"), target("/", "query", byID(fastID), "format", "json")
		status := make(chan int)
		go func() { status <- get(t, h, late).Code }()
		synctest.Wait() // Its view is open.
		exportSecond(t, s, 10, newProfileBuilder())
		first := get(t, h, kept)
		asked := source.others.Load()
		close(source.release)
		if code := <-status; code != http.StatusOK || asked == 0 {
			t.Fatalf("status %d of the late answer, %d selections before", code, asked)
		}
		asked = source.others.Load()
		if again := get(t, h, kept); !bytes.Equal(again.Body.Bytes(), first.Body.Bytes()) || source.others.Load() != asked {
			t.Errorf("asked again: %d selections, want those of before, %d", source.others.Load(), asked)
		}
		// The late answer itself is of no use any more.
		if get(t, h, late); source.others.Load() == asked {
			t.Error("an answer of an older generation was kept")
		}
	})
}

// writes notes where the longest part of an answer is in memory.
type writes struct {
	httptest.ResponseRecorder
	longest []byte
}

func (w *writes) Write(b []byte) (int, error) {
	if len(b) > len(w.longest) {
		w.longest = b
	}
	return w.ResponseRecorder.Write(b)
}

// An answer is encoded once, however many clients get it, each with the status of its own
// time.
func TestAnswersAreEncodedOnce(t *testing.T) {
	s := newTestStore(t)
	var asked atomic.Uint64
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
		return viewer.Status{Running: true, Counters: []viewer.Counter{{Name: "asked", Value: asked.Add(1)}}}
	}))
	for _, address := range []string{
		target("/", "query", ".cpu", "format", "json"),
		target("/", "query", ".cpu", "format", "text"),
		target("/", "query", ".cpu", "format", "pprof"),
		target("/comparison", "leftQuery", ".cpu", "rightQuery", byID(slowID), "format", "json"),
		target("/timeline", "format", "json"),
		"/?format=json",
	} {
		var longest [2][]byte
		for i := range longest {
			w := &writes{ResponseRecorder: *httptest.NewRecorder()}
			r := httptest.NewRequest(http.MethodGet, address, nil)
			r.Host = "localhost"
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK || len(w.longest) == 0 {
				t.Fatalf("GET %s: status %d, %d bytes", address, w.Code, len(w.longest))
			}
			if strings.Contains(address, "json") && !json.Valid(w.Body.Bytes()) {
				t.Errorf("GET %s: not JSON: %s", address, w.Body)
			}
			longest[i] = w.longest
		}
		if &longest[0][0] != &longest[1][0] {
			t.Errorf("GET %s: the second answer was encoded anew", address)
		}
	}
}

// A source that does not change keeps its answers too.
func TestAnswersOfFilesAreKept(t *testing.T) {
	asked := 0
	file := newFile(t)
	file.asked = func(any) { asked++ }
	h := viewer.Handler(constantSource{file})
	address := target("/", "query", ".cpu", "format", "json")
	first := get(t, h, address)
	once := asked
	if again := get(t, h, address); !bytes.Equal(again.Body.Bytes(), first.Body.Bytes()) || asked != once || once == 0 {
		t.Errorf("asked again: %d questions, want %d", asked, once)
	}
	if file.open != 0 {
		t.Errorf("%d views are open", file.open)
	}
}

// constantSource is a source that does not change, with views that are not store.Live.
type constantSource struct{ *fileSource }

func (constantSource) Generation() uint64 { return 1 }

func (s constantSource) View(ctx context.Context) (store.View, error) {
	v, err := s.fileSource.View(ctx)
	return constantView{v}, err
}

type constantView struct{ store.View }

func (constantView) Generation() uint64 { return 1 }
