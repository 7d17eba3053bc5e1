// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// An answer that is no HTTP is in the error, without the credentials that it repeats.
func TestNoHTTP(t *testing.T) {
	t.Setenv("SPANPROF_TOKEN", "t0ken-of-ann")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n\x1b[31m %s\r\n\r\n", r.Header.Get("Authorization"))
	}()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	_, err = read(t, "http://"+l.Addr().String()+"/debug/pprof/goroutine")
	if err == nil || !strings.Contains(err.Error(), "malformed") || !strings.Contains(err.Error(), "[redacted]") || strings.Contains(err.Error(), "t0ken") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q", err)
	}
}

// A server does not decide how many requests are made.
func TestTooManyProfiles(t *testing.T) {
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, one := `{"process":[%s]}`, `{"type":"cpu","query":".cpu","service":"s%d"}`
		if r.Method == http.MethodPost {
			body, one = `{"labelsSet":[%s]}`, `{"labels":[{"name":"__profile_type__","value":"process_cpu:cpu:nanoseconds:cpu:nanoseconds"},{"name":"service_name","value":"s%d"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		var all []string
		for i := range 1001 {
			all = append(all, fmt.Sprintf(one, i))
		}
		_, _ = io.WriteString(w, fmt.Sprintf(body, strings.Join(all, ",")))
	}))
	for _, address := range []string{server.URL + "/debug/spanprof/", "pyroscope+" + server.URL + "?query={}"} {
		if _, err := read(t, address); err == nil || !strings.Contains(err.Error(), "more than 1000 profiles") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
