// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package wall

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// A span that has ended its request and calls leaves goroutines of the standard
// library with its labels. They have no wall time.
func TestHelpersOfTheStandardLibrary(t *testing.T) {
	release := make(chan struct{})
	var client http.Client
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = span("a", func() { _, _ = r.Body.Read(make([]byte, 2)) })
		_, _ = w.Write(nil)
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	_, _ = span("a", func() {
		response, err := client.Post(server.URL, "", strings.NewReader("x"))
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		second, err := secure.Client().Get(secure.URL)
		if err != nil || second.ProtoMajor != 2 {
			t.Errorf("got %v, %v, want HTTP/2", second, err)
			return
		}
		_ = second.Body.Close()
	})
	for _, source := range sources() {
		t.Run(fmt.Sprintf("%T", source), func(t *testing.T) {
			livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
				s := newSampler(0.5, source)
				s.Start()
				<-time.After(d)
				p, err := s.Stop()
				if checked(t, p, err); s.Stats().Samples < 4 {
					return livetest.Few(int64(s.Stats().Samples), 4, "goroutines with the labels")
				}
				for _, sample := range samplesOf(p, "a") {
					t.Errorf("got %v, want no sample", sample.Location[len(sample.Location)-1].Line[0].Function.Name)
				}
				return ""
			})
		})
	}
}
