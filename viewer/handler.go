// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/static"
)

// Handler returns the viewer of a source, such as a *store.Store. Mount it under a path that
// ends in a slash, with or without http.StripPrefix. The package documentation lists the pages.
//
// The handler is safe for concurrent use. Every request reads one view of the source.
func Handler(s store.Source, opts ...Option) http.Handler {
	c := newConfig(opts)
	c.program.Instance = strconv.FormatInt(time.Now().UnixNano(), 36)
	return &handler{source: s, config: c}
}

type handler struct {
	config
	source      store.Source
	crossOrigin http.CrossOriginProtection
}

var _ http.Handler = (*handler)(nil)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	if !hostAllowed(r.Host, h.hosts) {
		http.Error(w, fmt.Sprintf("spanprof: profiles are shown on loopback names only, and %q is none: list the host with viewer.WithAllowedHosts, by inprocess.WithViewerOptions if inprocess.Start made this handler", termtext.Clip(r.Host, termtext.MaxQuoted)), http.StatusForbidden)
		return
	}
	if path, missing := slashMissing(r); missing {
		addSlash(w, r, path)
		return
	}
	segment := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	_, isPage := pages[segment]
	asset := static.Asset(segment)
	switch {
	case segment == "flush" || segment == "leaks":
		h.servePost(w, r, segment)
	case !isPage && asset == nil:
		http.Error(w, fmt.Sprintf("spanprof: there is no page %q; if the viewer is mounted on this path, ask for it with a slash at its end", segment), http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "spanprof: only GET and HEAD are answered here", http.StatusMethodNotAllowed)
	case fromOtherSite(r.Header) && isPage && followsLink(r.Header):
		// The page shows the same, whatever the format of the link.
		pageResponse().write(w, r, http.StatusOK)
	case fromOtherSite(r.Header):
		http.Error(w, "spanprof: pages of other sites may link to the pages here, but not load what is here", http.StatusForbidden)
	case asset != nil:
		asset(w, r)
	default:
		h.servePage(w, r, segment)
	}
}

// servePost closes the open window, or finds leaks at the cost of a garbage collection. Other requests
// change nothing. A browser may send it from the viewer's own page only.
func (h *handler) servePost(w http.ResponseWriter, r *http.Request, segment string) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "spanprof: "+segment+" wants a POST", http.StatusMethodNotAllowed)
		return
	}
	if err := h.crossOrigin.Check(r); err != nil {
		http.Error(w, "spanprof: only the viewer's own page may send a POST to "+segment+": "+err.Error(), http.StatusForbidden)
		return
	}
	if segment == "leaks" {
		h.servePage(w, r, segment)
		return
	}
	if h.flush == nil {
		http.Error(w, "spanprof: this viewer was made without viewer.WithFlush", http.StatusNotFound)
		return
	}
	if err := h.flush(r.Context()); err != nil {
		http.Error(w, "spanprof: flush: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// slashMissing returns the path of the mount if the request has it without its final slash.
// The page's relative links are wrong there.
func slashMissing(r *http.Request) (path string, missing bool) {
	path = r.URL.Path
	if path == "" { // The prefix was stripped.
		u, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			return "", false
		}
		path = u.Path
	} else if path != patternPath(r.Pattern) {
		return "", false
	}
	return path, !strings.HasSuffix(path, "/") && path != ""
}

// patternPath returns a pattern of a ServeMux without method and host.
func patternPath(pattern string) string {
	return pattern[max(0, strings.IndexByte(pattern, '/')):]
}

// addSlash redirects to the path with a final slash, unless the ServeMux has no such pattern.
func addSlash(w http.ResponseWriter, r *http.Request, path string) {
	if r.Pattern != "" && !hasSlash(r, path) {
		http.Error(w, fmt.Sprintf("spanprof: the pages are below this path: register it with a slash at its end\n\n\tmux.Handle(%q, h)", r.Pattern+"/"), http.StatusNotFound)
		return
	}
	// Without the dot, a colon in the name would end a scheme. http.Redirect would make
	// the target absolute, without the prefix that was stripped.
	u := url.URL{Path: "./" + path[strings.LastIndexByte(path, '/')+1:] + "/", RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", u.String())
	w.WriteHeader(http.StatusMovedPermanently)
}

// hasSlash returns true if the server's mux also has the path with a slash.
func hasSlash(r *http.Request, path string) bool {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return false
	}
	mux := http.DefaultServeMux
	if server.Handler != nil {
		if mux, ok = server.Handler.(*http.ServeMux); !ok {
			return false
		}
	}
	_, pattern := mux.Handler(&http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Path: path + "/"}})
	return patternPath(pattern) == path+"/"
}

// hostname returns a Host header in lower case, without port, trailing dot and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func hostAllowed(host string, allowed []string) bool {
	name := hostname(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.Unmap().IsLoopback() {
		return true
	}
	return name != "" && slices.Contains(allowed, name) || slices.Contains(allowed, "*")
}

// contentPolicy lets the page load its own files and nothing else. Its icon is a data:
// URL.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func setSecurityHeaders(header http.Header) {
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// fromOtherSite reports whether the page of another site made the browser send the
// request. Such a page cannot read the answer, but each of its images could make the
// viewer build a profile. Browsers since 2023 send the header to loopback and TLS
// addresses; other programs do not send it.
func fromOtherSite(header http.Header) bool {
	site := header.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin"
}

// followsLink reports whether a browser will show the answer as its page.
func followsLink(header http.Header) bool {
	return header.Get("Sec-Fetch-Mode") == "navigate" && header.Get("Sec-Fetch-Dest") == "document"
}
