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
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// Handler returns a handler that serves what the package comment lists, under
// any prefix: mount it under a path that ends in a slash. It may be used before p
// is started and after it is shut down, from any number of goroutines. Without a p,
// which is nil, it answers as if that were never started.
func Handler(p *profiler.Profiler) http.Handler {
	if p == nil {
		// It cannot fail: every option has its default, or is as good.
		p, _ = profiler.New(exporter.NewMulti(), profiler.WithMeterProvider(noop.NewMeterProvider()))
	}
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
	asPost := *r
	asPost.Method = http.MethodPost // every GET passes CrossOriginProtection
	changesState := strings.HasPrefix(name, "delta_") || r.URL.Query().Get("gc") != ""
	// Browsers name the site only to HTTPS and to localhost.
	noSite := r.Header.Get("Sec-Fetch-Site") == "" && strings.HasPrefix(r.UserAgent(), "Mozilla/")
	if changesState && (noSite || http.NewCrossOriginProtection().Check(&asPost) != nil) {
		fail(w, http.StatusForbidden, "a page of another site cannot request this, because the answer changes later ones: use curl, or open the address by HTTPS or localhost in a tab of its own")
		return
	}
	serve, isNamed := h.named[name]
	// The names of a program's own profiles may have slashes: they begin with an
	// import path, and may end like one of ours.
	for path, more := beyond(r), true; more; _, path, more = strings.Cut(path, "/") {
		if isNamed && path == name {
			break
		}
		if p := pprof.Lookup(path); p != nil {
			lookup(w, r, p)
			return
		}
	}
	if isNamed {
		serve(w, r)
		return
	}
	fail(w, http.StatusNotFound, "unknown profile")
}

// beyond returns the path of a request without the prefix that the handler is
// mounted under, if http.ServeMux has it: a profile "shop/trace" is not meant by
// the path /shop/trace of a handler under /shop/.
func beyond(r *http.Request) string {
	_, prefix, _ := strings.Cut(r.Pattern, "/")
	if !strings.HasSuffix(prefix, "/") {
		return r.URL.Path
	}
	return strings.TrimPrefix(r.URL.Path, "/"+prefix)
}

// cmdline answers with the arguments of the process, separated by NUL bytes.
func cmdline(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strings.Join(os.Args, "\x00"))
}
