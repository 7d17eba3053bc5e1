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
	// frozenSpans is the number of spans with a graph in the frozen list.
	frozenSpans = 20
)

// frozen collects the answers of a page that opens without a server.
type frozen struct {
	*handler
	ctx     context.Context
	answers map[string]json.RawMessage // by address
	room    int                        // bytes left
}

// freeze answers a page as one file with the answers that it would fetch. A list also has
// the names, and the graphs of its slowest spans.
func (h *handler) freeze(ctx context.Context, segment string, params url.Values) (response, error) {
	f := frozen{h, ctx, map[string]json.RawMessage{}, maxFrozenBytes - len(static.Frozen("", nil))}
	params = with(params, "since", "")
	if segment == "profile" {
		segment = "" // Links lead to this address.
	}
	if _, err := f.add(segment, params); err != nil {
		return response{}, err
	}
	if segment == "" && params.Get("query") == "" {
		f.addList(params)
	}
	if err := ctx.Err(); err != nil {
		return response{}, err
	}
	start := "./" + segment + "?" + with(params, "format", "").Encode()
	answers, err := jsonResponse(f.answers)
	return response{
		contentType: "text/html; charset=utf-8",
		disposition: `attachment; filename="spanprof.html"`,
		body:        static.Frozen(start, answers.body),
	}, err
}

// address returns the address of an answer, relative to the mount.
func address(segment string, params url.Values) string {
	return segment + "?" + with(params, "format", string(formatJSON)).Encode()
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

// add adds the answer to a request.
func (f *frozen) add(segment string, params url.Values) (json.RawMessage, error) {
	key := address(segment, params)
	if known, ok := f.answers[key]; ok {
		return known, nil
	}
	p, q, err := parse(segment, with(params, "format", string(formatJSON)))
	if err != nil {
		return nil, err
	}
	resp, err := f.answer(f.ctx, p, q)
	if err != nil {
		return nil, err
	}
	size := len(key) + len(resp.body) + 16 // with quotes, escapes and commas
	if size > f.room {
		return nil, answer.BadRequestf("this page takes more than %d MiB as a file: ask for less time, or for fewer spans", maxFrozenBytes>>20)
	}
	f.room -= size
	f.answers[key] = resp.body
	return resp.body, nil
}

// addList adds what a list leads to while there is room and time: the page names what it lacks.
func (f *frozen) addList(params url.Values) {
	var cancel context.CancelFunc
	f.ctx, cancel = context.WithTimeout(f.ctx, maxAnswerTime)
	defer cancel()
	var list struct {
		Spans  []struct{ Query string }
		Ranged bool
		Work   string
	}
	slowest, err := f.add("", with(params, "order", "slowest"))
	if err == nil {
		err = json.Unmarshal(slowest, &list)
	}
	if err != nil {
		return
	}
	times := url.Values{}
	for _, name := range []string{"from", "until"} {
		if text := params.Get(name); text != "" {
			times.Set(name, text)
		}
	}
	about := url.Values{}
	if list.Ranged {
		about = times
	}
	_, _ = f.add("timeline", with(about, "query", list.Work))
	for _, s := range list.Spans[:min(len(list.Spans), frozenSpans)] {
		_, _ = f.add("", with(about, "query", s.Query))
	}
	_, _ = f.add("names", times)
}
