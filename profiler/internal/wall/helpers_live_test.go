// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package wall

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// A span that has ended its request, call and transaction leaves goroutines of the standard
// library with its labels. They have no wall time.
func TestHelpersOfTheStandardLibrary(t *testing.T) {
	release := make(chan struct{})
	var client http.Client
	var end context.CancelFunc
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
		var ctx context.Context
		ctx, end = context.WithCancel(t.Context())
		db := sql.OpenDB(connector{})
		t.Cleanup(func() { _ = db.Close() })
		if _, err := db.BeginTx(ctx, nil); err != nil {
			t.Error(err)
		}
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
	defer end()
	for _, source := range sources() {
		t.Run(source.name(), func(t *testing.T) {
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

// connector is a database that only opens transactions.
type connector struct{ driver.Conn }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (connector) Driver() driver.Driver                          { return nil }
func (c connector) Begin() (driver.Tx, error)                    { return c, nil }
func (connector) Commit() error                                  { return nil }
func (connector) Rollback() error                                { return nil }
func (connector) Close() error                                   { return nil }
