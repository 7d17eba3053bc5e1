// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	httppprof "net/http/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// Processes are measured side by side. One is enough with -k.
func TestPGOAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", httppprof.Profile)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	broken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	stop := make(chan struct{})
	var burning sync.WaitGroup
	burning.Go(func() {
		for x := []byte("x"); ; {
			select {
			case <-stop:
				return
			default:
				sum := sha256.Sum256(x)
				x = sum[:]
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		burning.Wait()
	})
	live, gone := server.URL+"/debug/pprof/", broken.URL+"/debug/pprof/"
	outcome{exitFailed, "", gone}.check(t, "pgo", "-for", "1s", live, gone)
	livetest.Doubling(t, time.Second, func(d time.Duration) string { // a busy machine has few samples a second
		outcome{exitDone, "default.pgo: ", "left out: " + gone}.check(t, "pgo", "-k", "-f", "-for", d.String(), gone, live)
		p := readPGO(t, "default.pgo")
		if !strings.Contains(p.String(), "TestPGOAddress") {
			return fmt.Sprintf("got 0 of %d samples with the load, want 1", len(p.Sample))
		}
		return ""
	})
}
