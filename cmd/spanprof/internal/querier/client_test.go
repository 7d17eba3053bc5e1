// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
)

// over returns a client of a server that answers by a function.
func over(t *testing.T, environment map[string]string, answer http.HandlerFunc) *querier.Client {
	t.Helper()
	for key, value := range environment {
		t.Setenv(key, value)
	}
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	u, err := url.Parse("pyroscope+" + server.URL + "/prefix//?query=x")
	if err != nil {
		t.Fatal(err)
	}
	c, err := querier.New(u, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if want := "pyroscope+" + server.URL + "/prefix"; c.String() != want {
		t.Errorf("client of %q, want %q", c, want)
	}
	return c
}

// Errors of net/http quote headers, in which a server may repeat credentials.
func TestCredentialsInHeaders(t *testing.T) {
	const token = "t0ken-1234"
	c := over(t, map[string]string{"SPANPROF_TOKEN": token}, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nBearer "+token+"\r\n\r\n")
		_ = connection.Close()
	})
	_, err := c.Series(t.Context(), "", []string{"service_name"}, time.Unix(1, 0), time.Unix(2, 0))
	if err == nil || !strings.HasPrefix(err.Error(), c.String()) || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "[redacted]") {
		t.Error(err)
	}
}

// Errors of encoding/json quote values, which a server chooses.
func TestBadJSON(t *testing.T) {
	const token = "t0ken-1234"
	c := over(t, map[string]string{"SPANPROF_TOKEN": token}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"flamegraph":{"total":"%s %s"}}`, token, strings.Repeat("x", 1<<19))
	})
	_, err := c.Total(t.Context(), querier.Selector{})
	if err == nil || !strings.Contains(err.Error(), "the answer to SelectMergeStacktraces is not one of a Pyroscope server") ||
		!strings.Contains(err.Error(), "[redacted]") || strings.Contains(err.Error(), token) || len(err.Error()) > 2<<10 {
		t.Errorf("%.300q", fmt.Sprint(err))
	}
}
