// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestListenAndServe(t *testing.T) {
	// The port is free again when the listener is closed.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := ListenAndServe(t.Context(), addr, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("a port in use: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done() // As a query that waits for its turn does.
	})
	served := make(chan error, 1)
	go func() { served <- serve(ctx, free, h) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answered := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+addr, http.NoBody)
		if err != nil {
			answered <- err
			return
		}
		w, err := client.Do(r)
		if err == nil {
			err = w.Body.Close()
		}
		answered <- err
	}()
	<-begun
	cancel()
	if err := <-served; err != nil {
		t.Errorf("after the end: %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the request that was being answered: %v", err)
	}
}

// What is shown is not for everyone.
func TestListenAndServeIsForLoopback(t *testing.T) {
	for _, addr := range []string{":6060", "0.0.0.0:6060", "[::]:6060", "192.0.2.1:6060", "localhost", "localhost:http:1", ""} {
		if err := ListenAndServe(t.Context(), addr, http.NotFoundHandler()); err == nil {
			t.Errorf("%q: no error", addr)
		}
	}
	err := ListenAndServe(t.Context(), ":6060", http.NotFoundHandler())
	if want := `listen on "localhost:6060"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A listener that breaks is told of.
func TestServeFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := serve(t.Context(), listener, http.NotFoundHandler()); err == nil {
		t.Error("no error")
	}
}
