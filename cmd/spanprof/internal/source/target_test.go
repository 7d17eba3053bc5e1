// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// serve serves a handler on a loopback port.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// fetched returns the error of a goroutine profile of a process.
func fetched(t *testing.T, address string) error {
	t.Helper()
	target, err := source.NewTarget(address)
	if err != nil {
		return err
	}
	defer target.Close()
	_, _, err = target.Fetch(t.Context(), exporter.KindGoroutine, 0)
	return err
}

// Credentials go to the address of the SOURCE alone, and are in no message.
func TestCredentials(t *testing.T) {
	t.Setenv("SPANPROF_USER", "ann")
	t.Setenv("SPANPROF_PASSWORD", "pass-of-ann")
	t.Setenv("SPANPROF_TENANT", "team")
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:pass-of-ann"))
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != want || r.Header.Get("X-Scope-OrgID") != "team" {
			t.Errorf("header %v", r.Header)
		}
		if strings.HasPrefix(r.URL.Path, "/away") {
			http.Redirect(w, r, other.URL+"/login?token=x", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, "wrong: %s\nsecond line", r.Header.Get("Authorization"))
	}))
	for path, text := range map[string]string{"": "401 Unauthorized: wrong: [redacted]", "/away": "302 Found"} {
		err := fetched(t, server.URL+path+"/debug/pprof/")
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "second") || strings.Contains(err.Error(), "token=") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What no server of profiles answers is an error that names the address.
func TestBadAnswers(t *testing.T) {
	goroutine := func() []byte {
		recorder := httptest.NewRecorder()
		pprof.Handler("goroutine").ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
		return recorder.Body.Bytes()
	}()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"empty": {func(http.ResponseWriter, *http.Request) {}, "it has no bytes"},
		"login": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html><head><title>Log in</title>"))
		}, "it is an HTML page, of a login"},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(goroutine[:len(goroutine)/2]) }, "cut off"},
		"other":     {pprof.Handler("heap").ServeHTTP, "is a heap profile, want goroutine"},
		"503": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no\x1b[31m pod\nat all", http.StatusServiceUnavailable)
		}, "503 Service Unavailable: no [31m pod"},
		"broken": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("x"))
		}, "breaks off"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, test.handler)
			address := server.URL + "/debug/pprof/goroutine"
			err := fetched(t, server.URL)
			if err == nil || !strings.HasPrefix(err.Error(), address+": ") || !strings.Contains(err.Error(), test.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		if err := fetched(t, "http://127.0.0.1:1"); err == nil || !strings.HasPrefix(err.Error(), "http://127.0.0.1:1/debug/pprof/goroutine: ") || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%v", err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for arg, want := range map[string]string{
		"":                                              "empty SOURCE",
		"ftp://host/x":                                  "begins with pyroscope+http://",
		"http://host/debug/pprof/":                      "spanprof record writes the profiles",
		"pyroscope+http://ann:pw@host?query={}":         "set SPANPROF_USER",
		"pyroscope+http://ann:p%w@host?query={}":        "no address that can be read",
		"pyroscope+http:///?query={}":                   "no host",
		"pyroscope+http://host?query={}&token=pw":       `"token"`,
		"pyroscope+http://host":                         "query= is missing",
		"pyroscope+http://host?query=cpu{}":             "no label selector",
		"pyroscope+http://host?query={}&from=yesterday": `from: "yesterday" is no time`,
		"pyroscope+http://host?query={}&from=now":       "is not before",
		"pyroscope+http://host?query={}&form=now-1h":    `"form" is not known`,
		"pyroscope+http://host?query={}&until=%zz":      "invalid URL escape",
	} {
		_, err := source.Parse(arg)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") || strings.Contains(err.Error(), "p%w") {
			t.Errorf("Parse(%q) = %v, want %q", arg, err, want)
		}
	}
}

// record takes all of a process.
func TestNewTarget(t *testing.T) {
	for address, want := range map[string]bool{"http://h": true, "http://h/x/debug/pprof": true, "http://h/debug/pprof/heap": false, "http://h/debug/pprof/?seconds=1": false, "h:80": false, "pyroscope+http://h/debug/pprof/": false} {
		if target, err := source.NewTarget(address); (err == nil) != want || want && !strings.HasSuffix(target.Name(), "/debug/pprof/") {
			t.Errorf("%s: %v, %v", address, target, err)
		}
	}
}
