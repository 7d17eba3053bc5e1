// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// pipes connects a client and a server without sockets, so that a synctest bubble can control
// their time. It is the server's listener.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{} // closed by Close
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// server answers in memory like net/http/pprof. hangs reports whether it never answers the
// nth request for a kind, from 1 on.
func server(t *testing.T, hangs func(kind string, n int) bool) (c *source.Target, stop func()) {
	t.Helper()
	var mu sync.Mutex
	requests := map[string]int{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
		mu.Lock()
		requests[kind]++
		n := requests[kind]
		mu.Unlock()
		if hangs(kind, n) {
			<-r.Context().Done()
			return
		}
		p := &profile.Profile{TimeNanos: time.Now().UnixNano(), SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}}
		switch kind {
		case "profile":
			p.SampleType[0] = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
			select {
			case <-time.After(5 * time.Second):
			case <-r.Context().Done():
				return
			}
			p.DurationNanos = int64(5 * time.Second)
		case "heap":
			p.SampleType[0] = &profile.ValueType{Type: "alloc_space", Unit: "bytes"}
		case "mutex", "block":
			p.SampleType[0] = &profile.ValueType{Type: "contentions", Unit: "count"}
		}
		if err := p.Write(w); err != nil {
			t.Error(err)
		}
	})
	network := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(network)
	}()
	before := http.DefaultTransport // a client copies it
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = &http.Transport{DialContext: network.dial}
	target, err := source.NewTarget("http://shop:6060")
	if err != nil {
		t.Fatal(err)
	}
	return target, func() {
		_ = s.Close()
		<-done
	}
}

// A kind that hangs delays no other, and not the end. Its gap begins where its last profile
// ended. A profile that counts since the start of its process has no gap.
func TestHang(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hangs func(kind string, n int) bool
		want  map[exporter.Kind]Gaps
		took  time.Duration
		again string // of the last report
	}{
		{"nothing", func(string, int) bool { return false }, map[exporter.Kind]Gaps{}, 30 * time.Second, ""},
		{"CPU once", func(kind string, n int) bool { return kind == "profile" && n == 2 }, map[exporter.Kind]Gaps{exporter.KindCPU: {1, 10 * time.Second}}, 30 * time.Second, "cpu profiles are there again after"},
		{"CPU from then on", func(kind string, n int) bool { return kind == "profile" && n >= 2 }, map[exporter.Kind]Gaps{exporter.KindCPU: {1, 25 * time.Second}}, 35 * time.Second, "no answer within 10s: "},
		{"goroutines and heap", func(kind string, n int) bool { return kind != "profile" && n == 2 }, map[exporter.Kind]Gaps{exporter.KindGoroutine: {1, 10 * time.Second}}, 30 * time.Second, "profiles are there again after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				target, stop := server(t, tt.hangs)
				begun, last := time.Now(), ""
				results := Run(t.Context(), Config{
					Dir: dir, Targets: []*source.Target{target}, For: 30 * time.Second, Every: 5 * time.Second,
					MaxBytes: 1 << 20, Report: func(text string) { last = text },
				})
				took := time.Since(begun).Round(time.Second)
				stop()
				if runs, err := filepath.Glob(filepath.Join(dir, "shop_6060", "*T*Z")); err != nil || len(runs) != 1 {
					t.Errorf("runs %q, %v, want one by its time", runs, err)
				}
				got := results[0].Gaps
				for kind, gaps := range got { // pauses after failures are random
					got[kind] = Gaps{gaps.N, gaps.Length.Round(5 * time.Second)}
				}
				if !maps.Equal(got, tt.want) {
					t.Errorf("gaps %v, want %v\n%s", got, tt.want, results[0])
				}
				if took > tt.took+time.Second || took < 30*time.Second {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if results[0].Profiles < 23 || results[0].Profiles > 34 || !strings.Contains(last, tt.again) {
					t.Errorf("%s, last report %q", results[0], last)
				}
			})
		})
	}
}

// A signal ends a recording with what counts since the process began, and without the CPU
// profile in flight.
func TestSignal(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		target, stop := server(t, func(string, int) bool { return false })
		ctx, signal := context.WithTimeout(t.Context(), 3*time.Second)
		defer signal()
		var reports []string
		results := Run(ctx, Config{
			Dir: dir, Targets: []*source.Target{target}, For: time.Hour, Every: 5 * time.Second,
			MaxBytes: 1 << 20, Report: func(text string) { reports = append(reports, text) },
		})
		stop()
		if results[0].Profiles != 8 || len(reports) != 1 || !strings.Contains(reports[0], "the CPU profile in flight is dropped") {
			t.Errorf("%s, reports %q", results[0], reports)
		}
	})
}
