// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadHostile has servers with answers that are no hostview's.
func TestReadHostile(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nSpanprof-Agent: 1\r\nContent-Length: 2\r\n\r\n"
	for sent, want := range map[string]string{
		"":                        "closed the connection",
		"spanprof host 1\n":       "malformed HTTP",
		"HTTP/1.1 200 OK\r\n\r\n": "no hostview",
		"HTTP/1.1 404 Not Found\r\nSpanprof-Agent: 1\r\n\r\n":    "no hostview",
		"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nwhy": "refuses this process: why",
		ok + "x":        "closed the connection",
		ok + "\xff\xff": "protobuf",
		strings.Replace(ok, ": 2", ": 33554433", 1) + strings.Repeat("x", maxMessage+1): "more than",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxMessage+100<<10):              "closed the connection",
	} {
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<10))
			_, _ = conn.Write([]byte(sent))
			_ = conn.Close()
		}()
		if _, err := read(t.Context(), socket, "name", func(Delivery) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want an error with %q", sent, err, want)
		}
		<-done
		_ = l.Close()
	}
}

// TestReadEnds has no server at all.
func TestReadEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := Read(ctx, filepath.Join(t.TempDir(), "none"), func(Delivery) {}, func(error) {
		if n++; n == 2 {
			cancel()
		}
	})
	if err != nil || n != 2 {
		t.Errorf("%v after %d attempts", err, n)
	}
}
