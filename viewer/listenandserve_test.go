// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/viewer"
)

// Profiles are not for everyone.
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

func TestListenAndServeOnAPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	addr := taken.Addr().String()
	if err := viewer.ListenAndServe(t.Context(), addr, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("error %v, want one about %s", err, addr)
	}
}
