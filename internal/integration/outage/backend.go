// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/nettest"
)

// backend takes pushes of profiles and of spans, behind a proxy that refuses
// connections until it comes back.
type backend struct {
	server http.Server
	proxy  *nettest.Proxy
	ready  atomic.Bool // one request has been refused
	taken  atomic.Int64
}

func newBackend() (*backend, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := new(backend)
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
	n, err := count(r)
	if err != nil || !b.ready.Swap(true) {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	b.taken.Add(int64(n))
}

// count returns how many spans a request has, or 1 if it is of a profile.
func count(r *http.Request) (int, error) {
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			return 0, err
		}
	}
	data, err := io.ReadAll(body)
	if err != nil || r.URL.Path != "/v1/traces" {
		return 1, err
	}
	m := new(collectorpb.ExportTraceServiceRequest)
	if err := proto.Unmarshal(data, m); err != nil {
		return 0, err
	}
	n := 0
	for _, resource := range m.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			n += len(scope.Spans)
		}
	}
	return n, nil
}
