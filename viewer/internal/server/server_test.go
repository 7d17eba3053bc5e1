// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/viewer/internal/server"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func TestServe(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done() // As a query that waits for its turn does.
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, free, h) }()
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

func TestServeFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(t.Context(), listener, http.NotFoundHandler()); err == nil {
		t.Error("no error")
	}
}
