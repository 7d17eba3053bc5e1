// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"

	"github.com/spanprof/spanprof/viewer/internal/answer"
	"github.com/spanprof/spanprof/viewer/internal/static"
)

const (
	maxFrozenBytes = 5 << 20
	// frozenSpans is the number of slowest spans with a graph in the frozen list. With the
	// pages that they lead to there are at most frozenGraphs.
	frozenSpans, frozenGraphs = 20, 200
)

// freeze answers a page as one file with the answers that it would fetch. A list also has
// the names and the graphs of its slowest spans, and the pages that these lead to. It leaves out
// what has no room or no time.
func (h *handler) freeze(ctx context.Context, segment string, params url.Values) (response, error) {
	answers := map[string]json.RawMessage{} // by address, relative to the mount
	room := maxFrozenBytes - len(static.Frozen("", nil))
	add := func(ctx context.Context, segment string, params url.Values) (json.RawMessage, error) {
		params = with(params, "format", string(formatJSON))
		key := segment + "?" + params.Encode()
		if known, ok := answers[key]; ok {
			return known, nil
		}
		p, q, err := parse(segment, params)
		if err != nil {
			return nil, err
		}
		resp, err := h.answer(ctx, p, q)
		if err != nil {
			return nil, err
		}
		size := len(key) + len(resp.body) + 16 // with quotes, escapes and commas
		if size > room {
			return nil, answer.BadRequestf("this page takes more than %d MiB as a file: ask for less time, or for fewer spans", maxFrozenBytes>>20)
		}
		room -= size
		answers[key] = resp.body
		return resp.body, nil
	}
	params = with(params, "since", "")
	if segment == "profile" {
		segment = "" // Links lead to this address.
	}
	if _, err := add(ctx, segment, params); err != nil {
		return response{}, err
	}
	if segment == "" && params.Get("query") == "" {
		limited, cancel := context.WithTimeout(ctx, maxAnswerTime)
		defer cancel()
		var list struct {
			Spans  []struct{ Query string }
			Ranged bool
			Work   string
		}
		slowest, _ := add(limited, "", with(params, "order", "slowest"))
		_ = json.Unmarshal(slowest, &list)
		times, about := url.Values{}, url.Values{}
		for _, name := range []string{"from", "until"} {
			times = with(times, name, params.Get(name))
		}
		if list.Ranged {
			about = times
		}
		_, _ = add(limited, "timeline", with(about, "query", list.Work))
		_, _ = add(limited, "names", times)
		var queries []string
		for _, s := range list.Spans[:min(len(list.Spans), frozenSpans)] {
			queries = append(queries, s.Query)
		}
		for asked := map[string]bool{}; len(queries) > 0 && len(asked) < frozenGraphs; queries = queries[1:] {
			if !asked[queries[0]] {
				asked[queries[0]] = true
				page, _ := add(limited, "", with(about, "query", queries[0]))
				queries = append(queries, links(page)...)
			}
		}
	}
	if err := ctx.Err(); err != nil { // the file would lack what nobody has refused
		return response{}, err
	}
	start := "./" + segment + "?" + with(params, "format", "").Encode()
	all, err := jsonResponse(answers)
	return response{
		contentType: "text/html; charset=utf-8",
		disposition: `attachment; filename="spanprof.html"`,
		body:        static.Frozen(start, all.body),
	}, err
}

// links returns the queries with samples that a span's page leads to: the span with its children,
// each span of its trace, and other kinds. The steps of a job are such children.
func links(page json.RawMessage) (queries []string) {
	type link struct {
		Query                string
		Samples, SamplesHeld int64
	}
	var of struct {
		WithChildren link
		Trace, Kinds []link
	}
	_ = json.Unmarshal(page, &of)
	if query := of.WithChildren.Query; query != "" {
		queries = append(queries, query)
	}
	for _, l := range append(of.Trace, of.Kinds...) {
		if l.Samples+l.SamplesHeld > 0 {
			queries = append(queries, l.Query)
		}
	}
	return queries
}

// with returns params with another value; "" removes it.
func with(params url.Values, name, value string) url.Values {
	params = maps.Clone(params)
	params.Set(name, value)
	if value == "" {
		params.Del(name)
	}
	return params
}
