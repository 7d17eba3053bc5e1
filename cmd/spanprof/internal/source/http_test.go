// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// read returns the profiles of a SOURCE, and the first error.
func read(t *testing.T, arg string, want ...exporter.Kind) (all []*source.Profile, first error) {
	t.Helper()
	s, err := source.Parse(arg)
	if err != nil {
		return nil, err
	}
	skip := func(err error) {
		if first == nil {
			first = err
		}
	}
	err = s.Read(t.Context(), want, skip, func(p *source.Profile) error {
		all = append(all, p)
		return nil
	})
	if first == nil {
		first = err
	}
	return all, first
}

func kinds(profiles []*source.Profile) []exporter.Kind {
	var all []exporter.Kind
	for _, p := range profiles {
		all = append(all, p.Kind())
	}
	return all
}

// serve serves a handler on a loopback port.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// pprofMux has the paths of net/http/pprof.
func pprofMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}

func TestPprofKinds(t *testing.T) {
	server := serve(t, pprofMux())
	for address, want := range map[string][]exporter.Kind{
		"/debug/pprof/goroutine":           {exporter.KindGoroutine},
		"/debug/pprof/profile?seconds=1":   {exporter.KindCPU},
		"/debug/pprof/mutex?seconds=1":     {exporter.KindMutex},
		"/debug/pprof/block?seconds=1":     {exporter.KindBlock},
		"/debug/pprof/allocs?seconds=1":    {exporter.KindHeap},
		"/debug/pprof/goroutine?seconds=1": {exporter.KindGoroutine},
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			profiles, err := read(t, server.URL+address)
			if got := kinds(profiles); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		})
	}
	profiles, err := read(t, server.URL+"/debug/pprof", exporter.KindGoroutine)
	if got := kinds(profiles); err != nil || !slices.Equal(got, []exporter.Kind{exporter.KindGoroutine}) {
		t.Errorf("with Want.Kinds: %v, %v", got, err)
	}
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
		_, err := read(t, server.URL+path+"/debug/pprof/goroutine")
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
		}, "but text (a page to log in?): Log in"},
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
			_, err := read(t, address)
			if err == nil || !strings.HasPrefix(err.Error(), address+": ") || !strings.Contains(err.Error(), test.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		const address = "http://127.0.0.1:1/debug/pprof/goroutine"
		if _, err := read(t, address); err == nil || !strings.HasPrefix(err.Error(), address+": ") || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%v", err)
		}
	})
	t.Run("hanging", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}))
		s, err := source.Parse(server.URL + "/debug/pprof/goroutine")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Read(ctx, nil, func(error) { t.Error("skipped") }, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Read that was cancelled: %v", err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for arg, want := range map[string]string{
		"":                                               "empty SOURCE",
		"ftp://host/x":                                   "there are no ftp addresses",
		"http://ann:pw@host/debug/pprof/":                "set SPANPROF_USER",
		"pyroscope+http://ann:pw@host?query={}":          "set SPANPROF_USER",
		"http://ann:p%w@host/debug/pprof/":               "no address that can be read",
		"http:///debug/pprof/":                           "no host",
		"http://host/debug/pprof/?access_token=pw":       `"access_token"`,
		"http://host/debug/pprof/?key=pw":                `"key"`,
		"http://host/debug/pprof/trace":                  `no profile "trace"`,
		"http://host/debug/pprof/cpu":                    `no profile "cpu"`,
		"http://host/debug/pprof/heap?debug=1":           `"debug" is not known`,
		"http://host/debug/pprof/heap?seconds=0":         "seconds=0 is no number",
		"http://host/debug/pprof/heap?seconds=x":         "seconds=x is no number",
		"http://host/debug/spanprof/":                    "has /debug/pprof/ in its path",
		"pyroscope+http://host":                          "query= is missing",
		"pyroscope+http://host?query=shop":               "no label selector",
		"pyroscope+http://host?query=cpu{}":              `"cpu" is no profile type`,
		"pyroscope+http://host?query={}&from=yesterday":  `from: "yesterday" is no time`,
		"pyroscope+http://host?query={}&from=now":        "is not before",
		"pyroscope+http://host?query={}&form=now-1h":     `"form" is not known`,
		"pyroscope+http://host?query={}&until=%zz":       "invalid URL escape",
		"pyroscope+http://host?query={}&until=now%2b10m": `"now+10m" is no time`,
	} {
		_, err := source.Parse(arg)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") || strings.Contains(err.Error(), "p%w") {
			t.Errorf("Parse(%q) = %v, want %q", arg, err, want)
		}
	}
}

// record takes all of a process.
func TestNewTarget(t *testing.T) {
	for address, want := range map[string]bool{"http://h": true, "http://h/x/debug/pprof": true, "http://h/debug/pprof/heap": false, "http://h/debug/pprof/?seconds=1": false, "h:80": false} {
		if target, err := source.NewTarget(address); (err == nil) != want || want && !strings.HasSuffix(target.Name(), "/debug/pprof/") {
			t.Errorf("%s: %v, %v", address, target, err)
		}
	}
}
