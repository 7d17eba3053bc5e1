// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/pgo"
)

// page is the page of a running process with spanprof, or one of its queries.
type page struct {
	address *url.URL
	client  *client.Client
}

func newPage(u *url.URL) (Source, error) {
	switch last := u.Path[strings.LastIndexByte(u.Path, '/')+1:]; last {
	case "", "profile":
		u.Path = strings.TrimSuffix(u.Path, last)
	case "comparison", "comparison-diff":
		return nil, fmt.Errorf("%s: a comparison has two sides: give the page of one", u)
	default:
		return nil, fmt.Errorf("%s: profiles are read of net/http/pprof, with %s/ in the path, and of a spanprof page, with a slash at the end", u, pprofPath)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	c, err := client.New(sameServer)
	if err != nil {
		return nil, err
	}
	return &page{address: u, client: c}, nil
}

func (s *page) String() string { return s.address.String() }

func (s *page) Read(ctx context.Context, kinds []exporter.Kind, skip func(error), each func(*Profile) error) error {
	defer s.client.CloseIdleConnections()
	queries, err := s.queries(ctx)
	if err != nil {
		return err
	}
	for _, q := range queries {
		if !wants(kinds, q.kind) {
			continue
		}
		p, err := s.read(ctx, q)
		if err := pass(ctx, skip, each, p, err); err != nil {
			return err
		}
	}
	return nil
}

// pageQuery is a profile that a page offers.
type pageQuery struct {
	text, service string
	kind          exporter.Kind
}

// queries returns the query of the address, or all queries of the process.
func (s *page) queries(ctx context.Context) ([]pageQuery, error) {
	if text := s.address.Query().Get("query"); text != "" {
		q, err := flameql.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		return []pageQuery{{text: text, service: q.App, kind: q.Type.Kind}}, nil
	}
	data, err := get(ctx, s.client, s.String(), s.with("", url.Values{"format": {"json"}, "limit": {"1"}}), 0)
	if err != nil {
		return nil, err
	}
	var list struct {
		Service string
		Process []struct{ Type, Query, Service string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, decodeError(s.client, s.String(), data, fmt.Errorf("the answer is not from a spanprof page: %w", err))
	}
	if list.Process == nil {
		return nil, fmt.Errorf("%s: the answer is not from a spanprof page", s)
	}
	var queries []pageQuery
	for _, p := range list.Process {
		t, ok := flameql.TypeByName(p.Type)
		if !ok {
			continue // of a newer spanprof
		}
		service := p.Service
		if service == "" {
			service = list.Service
		}
		next := pageQuery{text: p.Query, service: service, kind: t.Kind}
		if len(queries) == maxProfiles {
			return nil, fmt.Errorf("%s: the page offers more than %d profiles", s, maxProfiles)
		}
		// The types of a heap profile are in one.
		if !slices.ContainsFunc(queries, func(q pageQuery) bool { return q.kind == next.kind && q.service == next.service }) {
			queries = append(queries, next)
		}
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("%s: the page has no profiles yet", s)
	}
	return queries, nil
}

func (s *page) read(ctx context.Context, q pageQuery) (*Profile, error) {
	params := url.Values{"query": {q.text}, "format": {"pprof"}}
	for _, name := range []string{"from", "until", "labels"} {
		if value := s.address.Query().Get(name); value != "" {
			params.Set(name, value)
		}
	}
	name := withoutUser(s.address) + " " + q.text
	data, err := get(ctx, s.client, name, s.with("profile", params), 0)
	if err != nil {
		return nil, err
	}
	parsed, err := pgo.Parse(data)
	if err != nil {
		return nil, decodeError(s.client, name, data, err)
	}
	if len(parsed.Sample) == 0 {
		return nil, fmt.Errorf("%s: %w", name, errors.New("the page has no samples for that"))
	}
	w := windowOf(q.kind, parsed)
	attributes := []attribute.KeyValue{attribute.String("service.instance.id", s.address.Host)}
	if q.service != "" {
		attributes = append(attributes, attribute.String("service.name", q.service))
	}
	w.Resource = resource.NewSchemaless(attributes...)
	return &Profile{Profile: exporter.NewParsedProfile(w, parsed), Name: name, Replica: s.address.Host}, nil
}

// with returns the address of one of the page's answers.
func (s *page) with(path string, params url.Values) string {
	u := url.URL{Scheme: s.address.Scheme, Host: s.address.Host, Path: s.address.Path + path, RawQuery: params.Encode()}
	return u.String()
}
