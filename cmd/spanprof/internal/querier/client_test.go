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

// asked returns the error of a question, which begins with the server's address.
func asked(t *testing.T, c *querier.Client) error {
	t.Helper()
	_, err := c.Series(t.Context(), "", []string{"service_name"}, time.Unix(1, 0), time.Unix(2, 0))
	if err == nil || !strings.HasPrefix(err.Error(), c.String()) {
		t.Fatalf("%v, want an error of %s", err, c)
	}
	return err
}

// A POST is not repeated where a server points: net/http would make a GET of it, without
// the question.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	for _, to := range []string{"/elsewhere", other.URL + "/?token=x"} {
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			c := over(t, nil, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/prefix/querier.v1.QuerierService/Series" {
					t.Errorf("asked for %s", r.URL)
				}
				http.Redirect(w, r, to, status)
			})
			if err := asked(t, c).Error(); !strings.Contains(err, http.StatusText(status)) || !strings.Contains(err, "redirects are not followed") {
				t.Errorf("%d to %s: %s", status, to, err)
			}
		}
	}
}

// Errors of net/http quote headers, in which a server may repeat credentials.
func TestCredentialsInHeaders(t *testing.T) {
	const token = "t0ken-1234"
	for name, header := range map[string]string{
		"status":       "HTTP/1.1 Bearer-" + token + " no",
		"header":       "HTTP/1.1 200 OK\r\nBearer " + token,
		"content type": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: " + token,
	} {
		t.Run(name, func(t *testing.T) {
			c := over(t, map[string]string{"SPANPROF_TOKEN": token}, func(w http.ResponseWriter, _ *http.Request) {
				connection, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(connection, header+"\r\n\r\n")
				_ = connection.Close()
			})
			if text := asked(t, c).Error(); strings.Contains(text, token) || !strings.Contains(text, "[redacted]") {
				t.Error(text)
			}
		})
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
		"a profile":        {"application/proto", pprof(1, 2), 2, ""},
		"nothing":          {"application/proto", "", 0, ""},
		"no samples":       {"application/proto", pprof(1, 0), 0, ""},
		"two types":        {"application/proto", pprof(2, 1), 0, "the answer to SelectMergeProfile: its samples have 2 values, want 1"},
		"no types":         {"application/proto", pprof(0, 1), 0, "the answer to SelectMergeProfile: it is no profile in the pprof format: "},
		"damaged":          {"application/proto", "\xff\x00", 0, "the answer to SelectMergeProfile: it is no profile in the pprof format: "},
		"too large":        {"application/proto", strings.Repeat("x", 1<<20+1), 0, "more than 1 MiB: ask for less"},
		"a page to log in": {"text/html", "<html>log in", 0, "wants people to log in"},
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
