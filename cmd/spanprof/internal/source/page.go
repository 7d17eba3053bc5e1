// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
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
	"github.com/spanprof/spanprof/internal/untrusted"
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
	c, err := client.New()
	if err != nil {
		return nil, err
	}
	return &page{address: u, client: c}, nil
}

func (s *page) String() string { return s.address.String() }

// errNothing is the error for a query without samples.
var errNothing = errors.New("the page has no samples for that")

func (s *page) Read(ctx context.Context, kinds []exporter.Kind, skip func(error), each func(*Profile) error) error {
	defer s.client.CloseIdleConnections()
	if text := s.address.Query().Get("query"); text != "" {
		q, err := flameql.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if !wants(kinds, q.Type.Kind) {
			return nil
		}
		p, err := s.read(ctx, text, q)
		return pass(ctx, skip, each, p, err)
	}
	// The types of a heap profile are in one.
	var read []exporter.Kind
	found := false
	for _, t := range flameql.Types {
		if !wants(kinds, t.Kind) || slices.Contains(read, t.Kind) {
			continue
		}
		read = append(read, t.Kind)
		p, err := s.read(ctx, "."+t.Name, flameql.Query{Type: t})
		switch {
		case errors.Is(err, errNothing):
			continue
		case err != nil:
			return err
		}
		found = true
		if err := pass(ctx, skip, each, p, nil); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: the page has no profiles yet", s)
	}
	return nil
}

func (s *page) read(ctx context.Context, text string, q flameql.Query) (*Profile, error) {
	params := url.Values{"query": {text}, "format": {"pprof"}}
	for _, name := range []string{"from", "until", "labels"} {
		if value := s.address.Query().Get(name); value != "" {
			params.Set(name, value)
		}
	}
	name := withoutUser(s.address) + " " + text
	u := url.URL{Scheme: s.address.Scheme, Host: s.address.Host, Path: s.address.Path + "profile", RawQuery: params.Encode()}
	data, err := get(ctx, s.client, name, u.String(), 0)
	if err != nil {
		return nil, err
	}
	parsed, err := untrusted.File(data, maxFile)
	if err != nil {
		return nil, decodeError(s.client, name, data, err)
	}
	if len(parsed.Sample) == 0 {
		return nil, fmt.Errorf("%s: %w", name, errNothing)
	}
	w := windowOf(q.Type.Kind, parsed)
	attributes := []attribute.KeyValue{attribute.String("service.instance.id", s.address.Host)}
	if q.App != "" {
		attributes = append(attributes, attribute.String("service.name", q.App))
	}
	w.Resource = resource.NewSchemaless(attributes...)
	return &Profile{Profile: exporter.NewParsedProfile(w, parsed), Name: name, Replica: s.address.Host}, nil
}
