// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/store"
)

// Handler returns the viewer of what s holds. It may be mounted under any
// path, with or without http.StripPrefix; it goes by the last segment of a
// request's path. The package documentation lists what it answers.
//
// Options that cannot be used are ignored and reported to otel.Handle. The
// handler is safe for concurrent use.
func Handler(s *store.Store, opts ...Option) http.Handler {
	c, err := newConfig(opts)
	if err != nil {
		otel.Handle(err)
	}
	return &handler{store: s, config: c, heavy: make(chan struct{}, 1), instance: strconv.FormatInt(time.Now().UnixNano(), 36)}
}

type handler struct {
	config
	store       *store.Store
	crossOrigin http.CrossOriginProtection
	// heavy has room for the one query that may look at everything.
	heavy chan struct{}
	// instance tells this handler from others, and from one before a restart.
	instance string
}

var _ http.Handler = (*handler)(nil)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if !hostAllowed(r.Host, h.hosts) {
		http.Error(w, fmt.Sprintf("spanprof: profiles are shown on loopback names only, and %q is none: list the host with inprocess.WithAllowedHosts, or with viewer.WithAllowedHosts if you made this handler yourself", clip(r.Host, maxQuoted)), http.StatusForbidden)
		return
	}
	if target, ok := slashMissing(r); ok {
		// http.Redirect would make the target absolute, and it knows
		// nothing of a prefix that was stripped.
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
	switch _, asset := assets[segment]; {
	case !fromElsewhere(r.Header):
		serve(w, r)
	case followsLink(r.Header) && !asset:
		// The page shows what the link is about, whatever format it asks for.
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
	case "comparison", "comparison-diff":
		return h.page(formatHTML, h.serveComparison), true
	case "timeline":
		fallback := formatJSON
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			// A person came here, and wants no numbers.
			fallback = formatHTML
		}
		return h.page(fallback, h.serveTimeline), true
	case "log":
		return h.page(formatHTML, h.serveLog), true
	}
	if a, ok := assets[segment]; ok {
		return a.serve, true
	}
	return nil, false
}

// page reads what the pages have in common: the parameters and the format.
func (h *handler) page(fallback format, serve func(*http.Request, url.Values, format) (response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// URL.Query drops what it cannot read, and a value that holds an
		// unescaped semicolon is such a thing.
		params, malformed := url.ParseQuery(r.URL.RawQuery)
		f, err := parseFormat(params.Get("format"), fallback)
		if malformed != nil {
			// The parts that can be read are there nevertheless.
			writeError(w, r, cmp.Or(f, fallback), badRequestf("malformed URL: %w: in a value, write a semicolon as %%3B and a percent sign as %%25", malformed))
			return
		}
		if err != nil {
			writeError(w, r, formatText, err)
			return
		}
		resp, err := serve(r, params, f)
		if err != nil {
			writeError(w, r, f, err)
			return
		}
		resp.write(w, r, http.StatusOK)
	}
}

// serveRoot answers the list of spans or, with a query, a flame graph.
func (h *handler) serveRoot(r *http.Request, params url.Values, f format) (response, error) {
	if params.Get("query") != "" {
		return h.serveProfile(r, params, f)
	}
	q, err := parseSpanQuery(params)
	if err != nil {
		return response{}, err
	}
	since := params.Get("since")
	// What was asked for by the clock changes with it.
	byClock := strings.HasPrefix(params.Get("from"), "now") || strings.HasPrefix(params.Get("until"), "now")
	switch {
	case f == formatHTML:
		return pageResponse(), nil
	case f == formatJSON && since != "" && !byClock && h.unchangedSince(since):
		return jsonResponse(unchanged{Generation: since, Unchanged: true, Status: h.statusJSON()})
	}
	leave, err := h.enterHeavy(r.Context())
	if err != nil {
		return response{}, err
	}
	defer leave()
	switch f {
	case formatJSON:
		return jsonResponse(h.spanList(q))
	case formatText:
		return textResponse(h.spanList(q).text()), nil
	}
	listed, err := listedProfile(h.spans(q))
	if err != nil {
		return response{}, err
	}
	if f == formatPprof {
		return h.pprof(r.Context(), listed)
	}
	return h.folded(r.Context(), listed)
}

// serveProfile answers the profile that a query selects.
func (h *handler) serveProfile(r *http.Request, params url.Values, f format) (response, error) {
	q, err := h.parseQuery(params, "query", "from", "until")
	if err != nil {
		return response{}, err
	}
	if f == formatHTML {
		return pageResponse(), nil
	}
	leave, err := h.enter(r.Context(), q)
	if err != nil {
		return response{}, err
	}
	defer leave()
	switch f {
	case formatPprof:
		return h.pprof(r.Context(), q)
	case formatFolded:
		return h.folded(r.Context(), q)
	}
	a, err := h.answer(r.Context(), q, newFunctions())
	if err != nil {
		return response{}, err
	}
	h.detail(a, params.Get("function"))
	if f == formatText {
		return textResponse(a.text()), nil
	}
	return jsonResponse(a)
}

// serveComparison answers two profiles and how they differ.
func (h *handler) serveComparison(r *http.Request, params url.Values, f format) (response, error) {
	left, err := h.parseQuery(params, "leftQuery", "leftFrom", "leftUntil")
	if err != nil {
		return response{}, err
	}
	right, err := h.parseQuery(params, "rightQuery", "rightFrom", "rightUntil")
	if err != nil {
		return response{}, err
	}
	if err := sameType(left, right); err != nil {
		return response{}, err
	}
	if f == formatHTML {
		return pageResponse(), nil
	}
	leave, err := h.enter(r.Context(), left, right)
	if err != nil {
		return response{}, err
	}
	defer leave()
	if f == formatPprof {
		return h.pprofDiff(r.Context(), left, right)
	}
	c, err := h.compare(r.Context(), left, right)
	if err != nil {
		return response{}, err
	}
	switch f {
	case formatFolded:
		return textResponse(foldedDiff(c.Left.breakdown.tree, c.Right.breakdown.tree)), nil
	case formatText:
		return textResponse(c.text()), nil
	}
	return jsonResponse(c)
}

// serveFlush closes the open window. It is the only thing that changes
// anything, so it must come from the viewer's own page or from a program.
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

// slashMissing returns where to send a request for the very path that the
// viewer is mounted on. Without the slash at its end, the page's relative
// links would lead elsewhere.
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
	// The dot keeps a name that holds a colon from being read as a scheme.
	u := url.URL{Path: "./" + name + "/", RawQuery: r.URL.RawQuery}
	return u.String(), true
}
