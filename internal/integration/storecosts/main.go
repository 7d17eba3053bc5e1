// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Storecosts prints the cost of expensive queries to the store and its page: CPU time and
// allocated bytes of the process. It also prints how many samples a store of 64 MiB holds. It
// uses public functions only.
//
//	go run ./internal/integration/storecosts
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

const (
	// most bounds the CPU time of filling a store, and patience the time of each row.
	most     = 20 * time.Second
	patience = 3 * most
	// maxBytes is the store's size.
	maxBytes = 64 << 20
	// idleWindows came before the window that needs their room.
	idleWindows = 62_000
	// listed spans are in the store that is asked for lists.
	listed = 60_000
)

func main() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "what\tCPU\twall\tallocated\tresult")
	for _, rows := range []func(*tabwriter.Writer) error{lists, full, evictions} {
		if err := rows(w); err != nil {
			_ = w.Flush()
			fmt.Fprintln(os.Stderr, "storecosts:", err)
			os.Exit(1)
		}
		runtime.GC()
	}
	if err := w.Flush(); err != nil {
		os.Exit(1)
	}
}

// cpu returns the CPU time that the process has taken.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// row prints what work costs.
func row(w io.Writer, name string, work func(context.Context) string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from, took := time.Now(), cpu()
	result := work(ctx)
	took = cpu() - took
	wall := time.Since(from)
	runtime.ReadMemStats(&after)
	_, _ = fmt.Fprintf(w, "%s\t%.3fs\t%.3fs\t%.1f MB\t%s\n", name, took.Seconds(), wall.Seconds(), float64(after.TotalAlloc-before.TotalAlloc)/1e6, result)
}

// client keeps what it is sent in short: a recorder would allocate for all of it.
type client struct {
	header http.Header
	status int
	bytes  int
	start  []byte
}

func (c *client) Header() http.Header    { return c.header }
func (c *client) WriteHeader(status int) { c.status = status }
func (c *client) Write(b []byte) (int, error) {
	c.start = append(c.start, b[:min(len(b), 160-len(c.start))]...)
	c.bytes += len(b)
	return len(b), nil
}

// get sends a request to a handler and prints the answer.
func get(ctx context.Context, h http.Handler, params ...string) string {
	values := url.Values{}
	for i := 0; i < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	c := &client{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(c, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/?"+values.Encode(), nil))
	if c.status != http.StatusOK {
		return fmt.Sprintf("status %d: %s", c.status, strings.TrimSpace(string(c.start)))
	}
	return fmt.Sprintf("%d bytes", c.bytes)
}

// lists prints what lists of spans cost.
func lists(w *tabwriter.Writer) error {
	s, err := store.New(store.WithMaxBytes(maxBytes))
	if err != nil {
		return err
	}
	record(s, listed)
	h := viewer.Handler(s)
	row(w, "list of 100 spans", func(ctx context.Context) string { return get(ctx, h, "format", "json", "limit", "100") })
	row(w, "list with limit=1000000", func(ctx context.Context) string { return get(ctx, h, "format", "json", "limit", "1000000") })
	return nil
}

// full prints what answers out of a full store cost.
func full(w *tabwriter.Writer) error {
	s, err := store.New(store.WithMaxBytes(maxBytes))
	if err != nil {
		return err
	}
	p := newProgram()
	var failed error
	row(w, "filling a store of 64 MiB", func(ctx context.Context) string {
		from := cpu()
		for n := 0; ctx.Err() == nil && cpu()-from < most && s.Stats().WindowsEvicted == 0; n++ {
			if failed = s.Export(ctx, window(n, p.samples(2000))); failed != nil {
				return failed.Error()
			}
		}
		held, bytes := samplesOf(context.WithoutCancel(ctx), s), s.Stats().Bytes
		return fmt.Sprintf("%d samples of 30 frames in %d windows, %.1f MB: %.1f B a sample", held, s.Stats().Windows, float64(bytes)/1e6, float64(bytes)/float64(held))
	})
	if failed != nil {
		return failed
	}
	h := viewer.Handler(s)
	row(w, "JSON out of it", func(ctx context.Context) string { return get(ctx, h, "query", ".cpu", "format", "json") })
	row(w, "pprof out of it", func(ctx context.Context) string { return get(ctx, h, "query", ".cpu", "format", "pprof") })
	row(w, "pprof with ids, of 5 windows", func(ctx context.Context) string {
		from, until := epoch.Add(1000*length), epoch.Add(1005*length)
		return get(ctx, h, "query", ".cpu", "format", "pprof", "labels", "ids", "from", strconv.FormatInt(from.Unix(), 10), "until", strconv.FormatInt(until.Unix(), 10))
	})
	row(w, "expression on ids, 40 characters", func(ctx context.Context) string {
		return get(ctx, h, "query", `.cpu{span_id=~".*[0-9].*[a-f].*[0-9].*[a-f].*[0-9].*x.."}`, "format", "json")
	})
	row(w, "list beside a graph of the process", func(ctx context.Context) string {
		done := make(chan string)
		go func() { done <- get(ctx, h, "query", `.cpu{span_name!="none"}`, "format", "json") }()
		time.Sleep(20 * time.Millisecond) // The graph has its turn.
		from := time.Now()
		list := get(ctx, h, "format", "json", "limit", "100")
		waited := time.Since(from)
		<-done
		return fmt.Sprintf("the list after %.3fs: %s", waited.Seconds(), list)
	})
	return nil
}

// evictions prints the cost of a window that evicts many idle ones.
func evictions(w *tabwriter.Writer) error {
	for _, idle := range []int{0, idleWindows} {
		s, err := store.New(store.WithMaxBytes(maxBytes))
		if err != nil {
			return err
		}
		from := cpu()
		for n := range idle {
			if err := s.Export(context.Background(), window(n, nil)); err != nil {
				return err
			}
			if cpu()-from > most {
				return fmt.Errorf("only %d idle windows came in %v of CPU time", n, most)
			}
		}
		load := newProgram().samples(100_000)
		var failed error
		row(w, fmt.Sprintf("a window of 100,000 samples after %d idle ones", idle), func(ctx context.Context) string {
			failed = s.Export(ctx, window(idle, load))
			return fmt.Sprintf("%d windows made room", s.Stats().WindowsEvicted)
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// samplesOf counts the samples of all windows.
func samplesOf(ctx context.Context, s *store.Store) int64 {
	view, err := s.View(ctx, time.Time{}, time.Time{})
	if err != nil {
		return 0
	}
	defer view.Close()
	kinds, err := view.Samples(store.Query{})
	if err != nil {
		return 0
	}
	return kinds.Samples
}
