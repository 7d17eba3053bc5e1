// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"runtime/pprof"
)

// others are links besides the profiles of runtime/pprof.
var others = []struct{ href, text string }{
	{"profile?seconds=10", "CPU profile of the next seconds"},
	{"wall?seconds=10", "on- and off-CPU time of spans in the next seconds, if the profiler measures it"},
	{"delta_heap", "heap profile since the last request"},
	{"delta_mutex", "mutex profile since the last request"},
	{"delta_block", "block profile since the last request"},
	{"trace?seconds=1", "execution trace of the next seconds"},
	{"goroutine?debug=2", "full stacks of all goroutines"},
	{"cmdline", "command line of the process"},
	{"symbol", "functions of program counters"},
}

// index answers with links to everything.
func index(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>profiles</title>\n<h1>Profiles</h1>\n")
	b.WriteString("<table>\n<tr><th>count<th>profile<th>as text\n")
	for _, p := range pprof.Profiles() {
		name, href := html.EscapeString(p.Name()), html.EscapeString((&url.URL{Path: p.Name()}).String())
		fmt.Fprintf(&b, "<tr><td>%d<td><a href=\"%s\">%s</a><td><a href=\"%s?debug=1\">text</a>\n", p.Count(), href, name, href)
	}
	b.WriteString("</table>\n<ul>\n")
	for _, o := range others {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>: %s\n", o.href, o.href, o.text)
	}
	b.WriteString("</ul>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
