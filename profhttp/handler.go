// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"io"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"

	"github.com/grafana/pyroscope-go/godeltaprof"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// Handler returns a handler that serves what the package comment lists, under
// any prefix: mount it under a path that ends in a slash. It may be used before p
// is started and after it is shut down, from any number of goroutines.
func Handler(p *profiler.Profiler) http.Handler {
	h := &handler{profiler: p}
	h.named = map[string]http.HandlerFunc{
		"":            index,
		"cmdline":     cmdline,
		"symbol":      symbol,
		"trace":       serveTrace,
		"profile":     h.timed("profile", exporter.KindCPU),
		"wall":        h.timed("wall", exporter.KindWall),
		"delta_heap":  delta("heap", godeltaprof.NewHeapProfiler()),
		"delta_mutex": delta("mutex", godeltaprof.NewMutexProfiler()),
		"delta_block": delta("block", godeltaprof.NewBlockProfiler()),
	}
	return h
}

type handler struct {
	profiler *profiler.Profiler
	named    map[string]http.HandlerFunc
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if r.Method != http.MethodGet && r.Method != http.MethodHead && (r.Method != http.MethodPost || name != "symbol") {
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "profiles are read by GET")
		return
	}
	if serve, ok := h.named[name]; ok {
		serve(w, r)
		return
	}
	// The names of a program's own profiles may have slashes: they begin
	// with an import path.
	for path, more := r.URL.Path, true; more; _, path, more = strings.Cut(path, "/") {
		if p := pprof.Lookup(path); p != nil {
			lookup(w, r, p)
			return
		}
	}
	fail(w, http.StatusNotFound, "unknown profile")
}

// cmdline answers with the arguments of the process, separated by NUL bytes.
func cmdline(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strings.Join(os.Args, "\x00"))
}
