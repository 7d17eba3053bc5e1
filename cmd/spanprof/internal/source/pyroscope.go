// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
)

// maxProfiles bounds the profiles that one SOURCE has read, each a request or
// more.
const maxProfiles = 1000

// pyroscope is a query for the CPU profiles of a Pyroscope server.
type pyroscope struct {
	client      *querier.Client
	selector    string
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
	s := &pyroscope{from: now.Add(-time.Hour), until: now}
	for name, values := range params {
		value := values[len(values)-1]
		switch name {
		case "query":
			if !strings.HasPrefix(value, "{") || !strings.HasSuffix(value, "}") {
				return fail(`query=%s is no label selector, such as {service_name="shop"}`, value)
			}
			s.selector = value
		case "from":
			s.from, err = parseTime(value, now)
		case "until":
			s.until, err = parseTime(value, now)
		default:
			return fail("the parameter %q is not known: known are query, from and until", name)
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
	s.client, err = querier.New(u, maxAnswer)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *pyroscope) Read(ctx context.Context, _ exporter.Kind, skip func(error), each func(*Profile) error) error {
	defer s.client.Close()
	all, err := s.series(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		p, err := s.read(ctx, one)
		if err != nil && ctx.Err() == nil {
			skip(err)
		}
		if p != nil {
			err = each(p)
		}
		if ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// parseTime reads now, now-1h and RFC 3339.
func parseTime(text string, now time.Time) (time.Time, error) {
	if ago, ok := strings.CutPrefix(text, "now"); ok {
		d, err := time.ParseDuration(cmp.Or(ago, "0s"))
		if err == nil && d <= 0 {
			return now.Add(d), nil
		}
	} else if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: known are now, now-1h and RFC 3339", text)
}

// replicaLabels are the labels that distinguish replicas, the first that profiles have: of
// OpenTelemetry, of Kubernetes' discovery, Prometheus and pyroscope-go.
var replicaLabels = []string{"service_instance_id", "k8s_pod_name", "pod", "instance", "hostname", "host_name"}

// series is what is read as one profile: the types of the CPU profiles of a replica.
type series struct {
	service, label, replica string
	types                   []querier.Type
}

// series returns the types of the CPU profiles that the server has, by replica.
func (s *pyroscope) series(ctx context.Context) ([]series, error) {
	sets, err := s.client.Series(ctx, s.selector, append([]string{"__profile_type__", "service_name"}, replicaLabels...), s.from, s.until)
	if err != nil {
		return nil, err
	}
	label := ""
	if i := slices.IndexFunc(replicaLabels, func(name string) bool {
		return slices.ContainsFunc(sets, func(set map[string]string) bool { return set[name] != "" })
	}); i >= 0 {
		label = replicaLabels[i]
	}
	var found []series
	for _, set := range sets {
		t, ok := querier.ParseType(set["__profile_type__"])
		if !ok || t.Kind != exporter.KindCPU {
			continue
		}
		one := series{service: set["service_name"], label: label, replica: set[label]}
		i := slices.IndexFunc(found, func(f series) bool { return f.service == one.service && f.replica == one.replica })
		if i < 0 {
			if len(found) == maxProfiles {
				return nil, fmt.Errorf("%s: the query means more than %d profiles: make it narrower", s.client, maxProfiles)
			}
			i = len(found)
			found = append(found, one)
		}
		if !slices.Contains(found[i].types, t) {
			found[i].types = append(found[i].types, t)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: the server has no CPU profiles of %s from %s until %s", s.client, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	slices.SortFunc(found, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.replica, b.replica))
	})
	return found, nil
}

// read returns the merged profile of a series, with a column for each of its types; nil if it
// has no samples.
func (s *pyroscope) read(ctx context.Context, one series) (*Profile, error) {
	matchers := []string{"service_name=" + strconv.Quote(one.service)}
	if one.label != "" {
		matchers = append(matchers, one.label+"="+strconv.Quote(one.replica))
	}
	selector := querier.Narrowed(s.selector, matchers...)
	parts := make([]*profile.Profile, 0, len(one.types))
	for i, t := range one.types {
		part, err := s.client.MergeProfile(ctx, querier.Selector{Type: t.ID, Labels: selector, From: s.from, Until: s.until})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", selector, err)
		}
		if part == nil {
			continue // nothing in the range
		}
		widen(part, one.types, i)
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	name := s.client.String() + " " + selector
	merged, err := profile.Merge(parts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", one.service), attribute.String("service.instance.id", one.replica)}
	w := exporter.Window{Kind: exporter.KindCPU, Start: s.from, Duration: s.until.Sub(s.from), Resource: resource.NewSchemaless(attributes...)}
	return &Profile{Profile: exporter.NewParsedProfile(w, merged), Name: name, Replica: one.replica}, nil
}

// widen adds columns of the other types to a profile of the i-th type: the server returns
// one type at a time, pprof files have all.
func widen(p *profile.Profile, types []querier.Type, i int) {
	p.SampleType = nil
	for _, t := range types {
		part := strings.Split(t.ID, ":")
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: part[1], Unit: part[2]})
		p.PeriodType = &profile.ValueType{Type: part[3], Unit: part[4]}
	}
	p.DefaultSampleType = ""
	for _, s := range p.Sample {
		value := make([]int64, len(types))
		value[i] = s.Value[0]
		s.Value = value
	}
}
