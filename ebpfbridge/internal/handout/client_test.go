// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"bytes"
	"context"
	"math"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReadHostile has servers that send what they must not.
func TestReadHostile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the hand-out needs Linux")
	}
	message := func(h header, payload string) string { return hello + string(h.append(nil)) + payload }
	for sent, want := range map[string]string{
		"":                           "EOF",
		"HTTP/1.1 400 Bad Request":   "no hostview",
		hello:                        "closed the connection",
		message(header{Kind: 7}, ""): "unknown kind",
		message(header{Kind: kindMessage, Length: math.MaxUint32}, ""):                             "bytes",
		message(header{Kind: kindMessage, Length: 5}, "xx"):                                        "EOF",
		message(header{Kind: kindMessage, Length: 2}, "\xff\xff"):                                  "proto",
		message(header{Kind: kindRefusal, Length: maxRefusal + 1}, ""):                             "bytes",
		message(header{Kind: kindRefusal, Length: 3}, "why"):                                       "refuses this process: why",
		message(header{Kind: kindMessage, Lost: 5}, string(header{Kind: kindMessage}.append(nil))): "went down",
	} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
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
			_, _ = conn.Write([]byte(sent))
			_ = conn.Close()
		}()
		if _, err := read(t.Context(), path, "name", func(Delivery) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", sent, err, want)
		}
		<-done
		_ = l.Close()
	}
}

func TestReadOfNoPath(t *testing.T) {
	for _, path := range []string{"", "@abstract", strings.Repeat("x", 200)} {
		if err := Read(t.Context(), path, nil, nil); err == nil {
			t.Errorf("%q: no error", path)
		}
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

func FuzzReadFrame(f *testing.F) {
	f.Add(header{Kind: kindMessage, Length: 3}.append(nil))
	f.Add(append(header{Kind: kindRefusal, Length: 3}.append(nil), "why"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, payload, err := readFrame(bytes.NewReader(b))
		if err == nil && (int(h.Length) != len(payload) || !bytes.Equal(append(h.append(nil), payload...), b[:headerSize+len(payload)])) {
			t.Errorf("%+v with %d bytes", h, len(payload))
		}
	})
}
