// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go/godeltaprof"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/marker/decode"
	"github.com/spanprof/spanprof/profiler"
)

// Handler returns a handler of the profiles that the package comment lists, under any
// prefix: mount it under a path that ends in a slash. It is safe for concurrent use, and may be
// used after p is shut down. If p is nil, profile takes a CPU profile by runtime/pprof for each
// request, and nothing is measured without one.
func Handler(p *profiler.Profiler) http.Handler {
	return &handler{map[string]http.HandlerFunc{
		"":            index,
		"trace":       serveTrace,
		"profile":     timed(p, exporter.KindCPU, "profile"),
		"wall":        timed(p, exporter.KindWall, "wall"),
		"delta_heap":  delta("heap", godeltaprof.NewHeapProfiler()),
		"delta_mutex": delta("mutex", godeltaprof.NewMutexProfiler()),
		"delta_block": delta("block", godeltaprof.NewBlockProfiler()),
	}}
}

type handler struct{ named map[string]http.HandlerFunc }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "profiles are read by GET")
		return
	}
	name, serve := h.find(r.URL.Path)
	if serve == nil {
		fail(w, http.StatusNotFound, "unknown profile")
		return
	}
	asPost := *r
	asPost.Method = http.MethodPost // every GET passes CrossOriginProtection
	changesState := strings.HasPrefix(name, "delta_") || name == "goroutineleak" || r.URL.Query().Get("gc") != ""
	// Browsers name the site only to HTTPS and to localhost.
	noSite := r.Header.Get("Sec-Fetch-Site") == "" && strings.HasPrefix(r.UserAgent(), "Mozilla/")
	if changesState && (noSite || http.NewCrossOriginProtection().Check(&asPost) != nil) {
		fail(w, http.StatusForbidden, "a page of another site cannot request this, because the answer changes later ones or costs a garbage collection: use curl, or open the address by HTTPS or localhost in a tab of its own")
		return
	}
	serve(w, r)
}

// find returns the profile with the longest name at the end of a path. The name of a program's
// own profile may have slashes, and may end in one of ours.
func (h *handler) find(path string) (name string, serve http.HandlerFunc) {
	for more := true; more; _, path, more = strings.Cut(path, "/") {
		if serve := h.named[path]; serve != nil {
			return path, serve
		}
		if p := pprof.Lookup(path); p != nil {
			return path, func(w http.ResponseWriter, r *http.Request) { lookup(w, r, p) }
		}
	}
	return "", nil
}

// index serves links to all profiles.
func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>profiles</title>\n<h1>Profiles</h1>\n<ul>\n")
	links := []string{"profile?seconds=10", "wall?seconds=10", "trace?seconds=1", "delta_heap", "delta_mutex", "delta_block", "goroutine?debug=2"}
	for _, p := range pprof.Profiles() {
		links = append(links, (&url.URL{Path: p.Name()}).String()+"?debug=1")
	}
	for _, link := range links {
		fmt.Fprintf(w, "<li><a href=\"%s\">%[1]s</a>\n", html.EscapeString(link))
	}
	fmt.Fprint(w, "</ul>\n")
}

// timed returns a handler of a kind that is measured for a time.
func timed(p *profiler.Profiler, k exporter.Kind, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d, err := seconds(r, 30*time.Second)
		if err == nil {
			err = extendDeadline(w, r, d+time.Second) // see Profile
		}
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		var b bytes.Buffer
		err = profiler.ErrNotMeasured
		if p != nil {
			err = p.Profile(r.Context(), &b, k, d)
		}
		if errors.Is(err, profiler.ErrNotMeasured) && k == exporter.KindCPU {
			err = profileCPU(r.Context(), &b, d)
		}
		switch {
		case err == nil:
			answer(w, name, b.Bytes())
		case errors.Is(err, profiler.ErrNotMeasured):
			fail(w, http.StatusNotFound, err.Error()+"\nname \""+string(k)+"\" in profiler.WithKinds")
		default:
			fail(w, http.StatusInternalServerError, "could not enable profiling: "+err.Error())
		}
	}
}

// profileCPU takes a CPU profile by runtime/pprof.
func profileCPU(ctx context.Context, w io.Writer, d time.Duration) error {
	if err := pprof.StartCPUProfile(w); err != nil {
		return fmt.Errorf("%w: %w", profiler.ErrCPUInUse, err)
	}
	defer pprof.StopCPUProfile()
	return sleep(ctx, d)
}

// sleep returns ctx's error if it ends before d is over.
func sleep(ctx context.Context, d time.Duration) error {
	over, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-over.Done()
	return ctx.Err()
}

// delta returns a handler of the events since its last answer. One of godeltaprof's profilers
// keeps the state, with a lock of its own. Each event is in one answer only, so a request
// without a reader takes none.
func delta(name string, deltas interface{ Profile(w io.Writer) error }) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Allow", "GET")
			fail(w, http.StatusMethodNotAllowed, "deltas are read by GET: HEAD would lose them")
			return
		}
		if r.FormValue("seconds") != "" {
			fail(w, http.StatusBadRequest, `"seconds" is not supported for this profile: it has the time since the last request`)
			return
		}
		if name == "heap" && r.FormValue("gc") != "" {
			runtime.GC()
		}
		if err := r.Context().Err(); err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		var b bytes.Buffer
		if err := deltas.Profile(&b); err != nil {
			fail(w, http.StatusInternalServerError, name+" profile: "+err.Error())
			return
		}
		answer(w, "delta_"+name, b.Bytes())
	}
}

// answer serves a profile in the pprof form. Work under a marker has the label span_name, as in
// the Profiler's windows.
func answer(w http.ResponseWriter, name string, pprof []byte) {
	if marker.Names() != nil {
		p, err := profile.ParseData(pprof)
		var b bytes.Buffer
		if err == nil {
			decode.Label(p)
			err = p.Write(&b)
		}
		if err != nil {
			fail(w, http.StatusInternalServerError, name+" profile: "+err.Error())
			return
		}
		pprof = b.Bytes()
	}
	announce(w, name)
	_, _ = w.Write(pprof)
}

// lookup serves a profile of runtime/pprof.
func lookup(w http.ResponseWriter, r *http.Request, p *pprof.Profile) {
	debug := 0
	switch text := r.FormValue("debug"); {
	case r.FormValue("seconds") != "":
		fail(w, http.StatusBadRequest, `"seconds" is not supported for this profile: use delta_heap, delta_mutex or delta_block`)
		return
	case text == "1", text == "2":
		debug = int(text[0] - '0')
	case text != "" && text != "0":
		fail(w, http.StatusBadRequest, fmt.Sprintf("invalid value %.50q for %q: use 0, 1 or 2", text, "debug"))
		return
	}
	if p.Name() == "heap" && r.FormValue("gc") != "" {
		runtime.GC()
	}
	if debug != 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = p.WriteTo(w, debug) // the error would be that the client has gone away
		return
	}
	var b bytes.Buffer
	if err := p.WriteTo(&b, 0); err != nil {
		fail(w, http.StatusInternalServerError, p.Name()+" profile: "+err.Error())
		return
	}
	answer(w, p.Name(), b.Bytes())
}

// serveTrace writes an execution trace of the next seconds, by default one. A trace can be
// large: it is written while it is taken.
func serveTrace(w http.ResponseWriter, r *http.Request) {
	d, err := seconds(r, time.Second)
	if err == nil {
		err = extendDeadline(w, r, d)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	announce(w, "trace")
	if err := trace.Start(w); err != nil {
		fail(w, http.StatusInternalServerError, "could not enable tracing: "+err.Error())
		return
	}
	defer trace.Stop()
	_ = sleep(r.Context(), d)
}

// longest bounds the duration of a profile.
const longest = 24 * time.Hour

// seconds returns the duration of a request.
func seconds(r *http.Request, otherwise time.Duration) (time.Duration, error) {
	text := r.FormValue("seconds")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= longest.Seconds()) { // or NaN
		return 0, fmt.Errorf("invalid value %.50q for %q: use a positive number, at most %.0f", text, "seconds", longest.Seconds())
	}
	return max(1, time.Duration(n*float64(time.Second))), nil
}

// extendDeadline gives the answer d more than the server's WriteTimeout, which counts from the
// request. It returns an error, for the client, if the answer would be too late.
func extendDeadline(w http.ResponseWriter, r *http.Request, d time.Duration) error {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || server.WriteTimeout <= 0 {
		return nil
	}
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(server.WriteTimeout + d))
	if err == nil || d < server.WriteTimeout {
		return nil
	}
	return errors.New("profile duration exceeds the server's WriteTimeout, which cannot be extended here")
}

// fail answers with an error as text, and removes the headers of a profile.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Go-Pprof", "1") // go tool pprof shows the text
	w.Header().Del("Content-Disposition")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// announce sets the headers of a profile.
func announce(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
