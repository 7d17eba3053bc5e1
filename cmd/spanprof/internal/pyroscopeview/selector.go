// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

const serviceName = "service_name"

// conditions are the conditions of a query, in the server's terms.
type conditions struct {
	// labels is a label selector.
	labels string
	// spans are the only ids that count; nil for all, and empty if no id can meet the
	// conditions.
	spans []string
	// service is the required value of service_name.
	service string
}

// conditionsOf returns the conditions of matchers. The server selects ids only by lists.
func (v *view) conditionsOf(matchers []store.Matcher) (conditions, error) {
	var c conditions
	var labels []string
	trace := false
	for _, m := range matchers {
		if m.OnSpan() {
			return c, fmt.Errorf("%w: a Pyroscope server stores no spans: leave out the condition on %s", store.ErrUnsupported, m.Label())
		}
		switch m.Label() {
		case "": // The zero Matcher matches all.
			continue
		case labelkey.TraceID:
			trace = true
			continue
		case labelkey.ProfileID, labelkey.SpanID:
			if err := v.addIDs(&c, m); err != nil {
				return c, err
			}
			continue
		case serviceName:
			if m.Op() == store.MatchEqual {
				c.service = m.Value()
			}
		}
		labels = append(labels, labelName(m.Label())+flameql.Operators[m.Op()]+strconv.Quote(m.Value()))
	}
	if trace {
		if c.spans == nil {
			return c, errOnlyLists
		}
		v.note("a Pyroscope server cannot select the spans of a trace: the condition on trace_id does not count")
	}
	c.labels = "{" + strings.Join(labels, ",") + "}"
	return c, nil
}

var errOnlyLists = fmt.Errorf(`%w: a Pyroscope server finds ids of spans by lists alone, such as span_id="a" and span_id=~"a|b"`, store.ErrUnsupported)

// addIDs adds a condition on ids.
func (v *view) addIDs(c *conditions, m store.Matcher) error {
	if !m.ListsIDs() || m.Value() == "" {
		return errOnlyLists
	}
	ids := []string{m.Value()}
	if m.Op() == store.MatchRegexp {
		ids = strings.Split(strings.Trim(strings.TrimPrefix(m.Value(), "(?:"), "^$()"), "|")
	}
	known := []string{}
	for _, id := range ids {
		id = strings.ToLower(id)
		if b, err := hex.DecodeString(id); err != nil || len(b) != 8 {
			v.note("a Pyroscope server keeps ids of 16 hex digits alone: it has none other")
			continue
		}
		if c.spans == nil || slices.Contains(c.spans, id) {
			known = append(known, id)
		}
	}
	c.spans = known
	return nil
}

// labelName returns a label as the exporter and the server write it.
func labelName(name string) string {
	written := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '_'
	}, name)
	if written == "" || written[0] >= '0' && written[0] <= '9' {
		return "_" + written
	}
	return written
}
