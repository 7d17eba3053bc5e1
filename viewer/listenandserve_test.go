// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/viewer"
)

func TestListenAndServeIsForLoopback(t *testing.T) {
	for _, addr := range []string{":6060", "0.0.0.0:6060", "[::]:6060", "192.0.2.1:6060", "localhost", "localhost:http:1", ""} {
		if err := viewer.ListenAndServe(t.Context(), addr, http.NotFoundHandler()); err == nil {
			t.Errorf("%q: no error", addr)
		}
	}
	err := viewer.ListenAndServe(t.Context(), ":6060", http.NotFoundHandler())
	if want := `listen on "localhost:6060"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// The end of the context ends the contexts of requests, and Serve waits for their answers.
func TestServe(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	served := make(chan error, 1)
	go func() { served <- viewer.Serve(ctx, free, h) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answered := make(chan error, 1)
	go func() {
		w, err := client.Get("http://" + free.Addr().String())
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
		t.Errorf("the open request: %v", err)
	}
}
