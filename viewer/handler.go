// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/static"
)

// Handler returns the viewer of a source, such as a *store.Store. It may be mounted
// under any path, with or without http.StripPrefix: only the last segment of a request's
// path counts. The package documentation lists the pages.
//
// Options that cannot be used are ignored and reported to otel.Handle. The handler is
// safe for concurrent use. Every request reads one view of the source.
//
// Equal requests share one answer, which is kept for the next ones, where the source and
// its views have the method
//
//	Generation() uint64
//
// as a *store.Store does: a number that goes up whenever an answer may have changed. It stays
// the same for a source that does not change, such as profiles in files.
func Handler(s store.Source, opts ...Option) http.Handler {
	c, err := newConfig(opts)
	if err != nil {
		otel.Handle(err)
	}
	return &handler{source: s, config: c, graphs: make(turns, 1), lists: make(turns, 2), instance: strconv.FormatInt(time.Now().UnixNano(), 36)}
}

type handler struct {
	config
	source      store.Source
	crossOrigin http.CrossOriginProtection
	// graphs has room for one request that looks at all samples, lists for some that
	// look at all spans: a list does not wait for a graph.
	graphs, lists turns
	shared        shared
	// instance tells this handler from others, and from those before a restart.
	instance string
	// traced is how many requests came within a span that is recorded.
	traced atomic.Uint64
}

var _ http.Handler = (*handler)(nil)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	if trace.SpanFromContext(r.Context()).IsRecording() {
		h.traced.Add(1)
	}
	if !hostAllowed(r.Host, h.hosts) {
		http.Error(w, fmt.Sprintf("spanprof: profiles are shown on loopback names only, and %q is none: list the host with inprocess.WithAllowedHosts, or with viewer.WithAllowedHosts if you made this handler yourself", termtext.Clip(r.Host, termtext.MaxQuoted)), http.StatusForbidden)
		return
	}
	if target, ok := slashMissing(r); ok {
		// http.Redirect would make the target absolute, without the prefix that
		// was stripped.
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	segment := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if segment == "flush" {
		h.serveFlush(w, r)
		return
	}
	serve, ok := h.route(segment, r)
	if !ok {
		http.Error(w, fmt.Sprintf("spanprof: there is no page %q; if the viewer is mounted on this path, ask for it with a slash at its end", segment), http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "spanprof: only GET and HEAD are answered here", http.StatusMethodNotAllowed)
		return
	}
	switch _, asset := static.Assets[segment]; {
	case !fromOtherSite(r.Header):
		serve(w, r)
	case followsLink(r.Header) && !asset:
		// Whatever format the link asks for, the page shows what it is about.
		pageResponse().write(w, r, http.StatusOK)
	default:
		http.Error(w, "spanprof: pages of other sites may link to the pages here, but not load what is here", http.StatusForbidden)
	}
}

func (h *handler) route(segment string, r *http.Request) (http.HandlerFunc, bool) {
	switch segment {
	case "":
		return h.page(formatHTML, h.serveRoot), true
	case "profile":
		return h.page(formatPprof, h.serveProfile), true
	case "waits":
		return h.page(formatPprof, h.serveWaits), true
	case "comparison", "comparison-diff":
		return h.page(formatHTML, h.serveComparison), true
	case "timeline":
		fallback := formatJSON
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			// A browser: serve the page, not JSON.
			fallback = formatHTML
		}
		return h.page(fallback, h.serveTimeline), true
	case "source":
		return h.page(formatJSON, h.serveSource), true
	case "names":
		return h.page(formatHTML, h.serveNames), true
	case "find":
		return h.page(formatJSON, h.serveFind), true
	case "log":
		return h.page(formatHTML, h.serveLog), true
	}
	asset, ok := static.Assets[segment]
	return asset, ok
}

// serveFlush closes the open window. No other request changes anything, so a browser may
// send it only from the viewer's own page.
func (h *handler) serveFlush(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "spanprof: flush wants a POST", http.StatusMethodNotAllowed)
	case h.flush == nil:
		http.Error(w, "spanprof: this viewer was made without viewer.WithFlush", http.StatusNotFound)
	default:
		if err := h.crossOrigin.Check(r); err != nil {
			http.Error(w, "spanprof: only the viewer's own page may flush: "+err.Error(), http.StatusForbidden)
			return
		}
		if err := h.flush(r.Context()); err != nil {
			http.Error(w, "spanprof: flush: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// slashMissing returns the target of a redirect if the request is for the path of the
// mount without the slash at its end, from which the page's relative links would be
// wrong.
func slashMissing(r *http.Request) (string, bool) {
	path := r.URL.Path
	switch {
	case path == "":
		// The prefix was stripped, with or without its slash.
		u, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			return "", false
		}
		path = u.Path
	case r.Pattern == "" || r.Pattern[max(0, strings.IndexByte(r.Pattern, '/')):] != path:
		return "", false
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	if name == "" {
		return "", false
	}
	// Without the dot, a colon in the name would end a scheme.
	u := url.URL{Path: "./" + name + "/", RawQuery: r.URL.RawQuery}
	return u.String(), true
}
