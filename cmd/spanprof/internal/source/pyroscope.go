// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
)

// maxProfiles bounds the profiles that one SOURCE has read, each a request or
// more.
const maxProfiles = 1000

// pyroscope is a query of a Pyroscope server.
type pyroscope struct {
	address     string
	client      *querier.Client
	profileType string // none means all
	selector    string
	by          []string
	from, until time.Time
}

func newPyroscope(u *url.URL) (Source, error) {
	fail := func(format string, args ...any) (Source, error) {
		return nil, fmt.Errorf("%s: %w", withoutUser(u), fmt.Errorf(format, args...))
	}
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return fail("%w", err)
	}
	now := time.Now()
	s := &pyroscope{address: u.String(), by: replicaLabels, from: now.Add(-time.Hour), until: now}
	for name, values := range params {
		value := values[len(values)-1]
		switch name {
		case "query":
			brace := strings.IndexByte(value, '{')
			if brace < 0 || !strings.HasSuffix(value, "}") {
				return fail(`query=%s is no label selector, such as {service_name="shop"}`, value)
			}
			s.profileType, s.selector = strings.TrimSpace(value[:brace]), value[brace:]
			if s.profileType != "" && strings.Count(s.profileType, ":") != 4 {
				return fail("%q is no profile type, such as process_cpu:cpu:nanoseconds:cpu:nanoseconds; without one, query= means all of them", s.profileType)
			}
		case "by":
			s.by = nil
			if value != "" {
				s.by = []string{value}
			}
		case "from":
			s.from, err = parseTime(value, now)
		case "until":
			s.until, err = parseTime(value, now)
		default:
			return fail("the parameter %q is not known: known are query, from, until and by", name)
		}
		if err != nil {
			return fail("%s: %w", name, err)
		}
	}
	switch {
	case s.selector == "":
		return fail(`query= is missing: it has the label selector, such as query={service_name="shop"}`)
	case !s.from.Before(s.until):
		return fail("from=%s is not before until=%s", s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	s.client, err = querier.New(u, maxAnswer, "ask for less time by from= and until=, or for less by query=")
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *pyroscope) String() string { return s.address }

func (s *pyroscope) Read(ctx context.Context, kinds []exporter.Kind, skip func(error), each func(*Profile) error) error {
	defer s.client.Close()
	all, err := s.series(ctx, kinds)
	if err != nil {
		return err
	}
	for _, one := range all {
		parts, err := s.read(ctx, one)
		if err := pass(ctx, skip, each, nil, err); err != nil {
			return err
		}
		for _, p := range parts {
			if !wants(kinds, p.Kind()) {
				continue
			}
			if err := pass(ctx, skip, each, p, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseTime reads now, now-1h, RFC 3339 and unix times. The size of a unix time shows
// whether it is in seconds, ms, µs or ns.
func parseTime(text string, now time.Time) (time.Time, error) {
	wrong := fmt.Errorf("%q is no time: known are now, now-1h, RFC 3339 and unix times", text)
	if ago, ok := strings.CutPrefix(text, "now"); ok {
		if ago == "" {
			return now, nil
		}
		days, isDays := strings.CutSuffix(ago, "d")
		if isDays {
			ago = days + "h"
		}
		d, err := time.ParseDuration(ago)
		if err != nil || d > 0 {
			return time.Time{}, errors.Join(wrong, err)
		}
		if isDays {
			d *= 24
		}
		return now.Add(d), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch {
		case n < 1e11:
			return time.Unix(n, 0), nil
		case n < 1e14:
			return time.UnixMilli(n), nil
		case n < 1e17:
			return time.UnixMicro(n), nil
		}
		return time.Unix(0, n), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, wrong
	}
	return t, nil
}
