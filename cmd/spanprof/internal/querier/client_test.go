// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

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

// The call that all versions of a server know has the profile itself as its answer.
func TestMergeProfile(t *testing.T) {
	pprof := func(types, samples int) string {
		p := &profile.Profile{}
		for range types {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
		}
		for range samples {
			p.Sample = append(p.Sample, &profile.Sample{Value: make([]int64, types)})
		}
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		contentType, answer string
		samples             int // 0 for no profile
		err                 string
	}{
		"a profile":  {"application/proto", pprof(1, 2), 2, ""},
		"nothing":    {"application/proto", "", 0, ""},
		"no samples": {"application/proto", pprof(1, 0), 0, ""},
		"two types":  {"application/proto", pprof(2, 1), 0, "the answer to SelectMergeProfile: its samples have 2 values, want 1"},
		"no types":   {"application/proto", pprof(0, 1), 0, "the answer to SelectMergeProfile: it is no profile in the pprof format: "},
	} {
		t.Run(name, func(t *testing.T) {
			c := over(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				_, _ = io.WriteString(w, test.answer)
			})
			p, err := c.MergeProfile(t.Context(), querier.Selector{})
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.String()+": ") || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v, want %q", err, test.err)
				}
				return
			}
			if err != nil || (p != nil) != (test.samples > 0) || p != nil && len(p.Sample) != test.samples {
				t.Errorf("%v, %v, want %d samples", p, err, test.samples)
			}
		})
	}
}
