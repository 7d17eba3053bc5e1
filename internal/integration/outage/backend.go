// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/spanprof/spanprof/internal/integration/sentid"
	"github.com/spanprof/spanprof/internal/nettest"
)

// backend takes pushes of profiles and of spans, behind a proxy that refuses
// connections until it comes back. It knows them by the ids of spans.
type backend struct {
	server http.Server
	proxy  *nettest.Proxy
	ready  atomic.Bool // one request has been refused

	mu    sync.Mutex
	taken map[string]int // how often, by id
}

func newBackend() (*backend, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &backend{taken: make(map[string]int)}
	b.server.Handler = b
	go func() { _ = b.server.Serve(l) }()
	b.proxy, err = nettest.NewProxy(l.Addr().String())
	if err == nil {
		err = b.proxy.Set(nettest.Fault{Refused: true})
	}
	return b, err
}

func (b *backend) comeBack() error { return b.proxy.Set(nettest.Fault{}) }

func (b *backend) close() { _ = errors.Join(b.proxy.Close(), b.server.Close()) }

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids, err := sentid.Of(r)
	if err != nil || !b.ready.Swap(true) {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	b.mu.Lock()
	for _, id := range ids {
		b.taken[id]++
	}
	b.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// delivered returns how many profiles or spans were taken, and how many of them more than
// once.
func (b *backend) delivered() (n, twice int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, times := range b.taken {
		if times > 1 {
			twice++
		}
	}
	return len(b.taken), twice
}
