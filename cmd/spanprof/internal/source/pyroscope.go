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
	"github.com/spanprof/spanprof/internal/columns"
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
	s := &pyroscope{address: u.String(), from: now.Add(-time.Hour), until: now}
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

// replicaLabels are the labels that distinguish replicas, the first that profiles have: of OpenTelemetry, as a collector and as exporter/pyroscope send them, of
// Kubernetes' discovery, Prometheus and pyroscope-go.
var replicaLabels = []string{"service_instance_id", "k8s_pod_name", "pod", "instance", "hostname", "host_name"}

// series is what is read as one profile: the types of a kind, of a replica.
type series struct {
	service, label, replica string
	group                   string // the types' name: process_cpu
	types                   []querier.Type
}

// series returns the types that the server has, by replica.
func (s *pyroscope) series(ctx context.Context, kinds []exporter.Kind) ([]series, error) {
	sets, err := s.client.Series(ctx, s.selector, append([]string{"__profile_type__", "service_name"}, replicaLabels...), s.from, s.until)
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s: the server has no profiles of %s from %s until %s", s.client, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	label := ""
	if i := slices.IndexFunc(replicaLabels, func(name string) bool {
		return slices.ContainsFunc(sets, func(set map[string]string) bool { return set[name] != "" })
	}); i >= 0 {
		label = replicaLabels[i]
	}
	var found []series
	for _, set := range sets {
		profileType := set["__profile_type__"]
		if s.profileType != "" && profileType != s.profileType {
			continue
		}
		t, ok := querier.ParseType(profileType)
		if !ok || !wants(kinds, t.Kind) {
			continue
		}
		one := series{service: set["service_name"], label: label, replica: set[label], group: t.Group}
		i := slices.IndexFunc(found, func(f series) bool {
			return f.service == one.service && f.replica == one.replica && f.group == t.Group
		})
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
		return nil, fmt.Errorf("%s: the server lacks the wanted profiles of %s from %s until %s", s.client, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	slices.SortFunc(found, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.replica, b.replica), cmp.Compare(a.group, b.group))
	})
	for _, f := range found {
		slices.SortFunc(f.types, func(a, b querier.Type) int { // alloc before inuse, as in pprof
			if a.Sample != b.Sample && (a.Sample == "samples" || b.Sample == "samples") {
				return cmp.Compare(b.Sample, a.Sample) // samples before cpu
			}
			return cmp.Compare(a.ID, b.ID)
		})
	}
	return found, nil
}

// read returns the merged profile of a series with all its types, by kind; nil if it has
// no samples. Live memory and goroutines are averages of the range.
func (s *pyroscope) read(ctx context.Context, one series) ([]*Profile, error) {
	matchers := []string{"service_name=" + strconv.Quote(one.service)}
	if one.label != "" {
		matchers = append(matchers, one.label+"="+strconv.Quote(one.replica))
	}
	selector := querier.Narrowed(s.selector, matchers...)
	name := s.client.String() + " " + one.group + selector
	parts := make([]*profile.Profile, 0, len(one.types))
	for i, t := range one.types {
		part, err := s.part(ctx, t, querier.Selector{Type: t.ID, Labels: selector, From: s.from, Until: s.until})
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", one.group, selector, err)
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
	merged, err := profile.Merge(parts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Servers return the start of the range as the time, or its end.
	merged.TimeNanos, merged.DurationNanos = s.from.UnixNano(), s.until.Sub(s.from).Nanoseconds()
	var all []*Profile
	for _, part := range columns.Split(merged, one.group) {
		w := exporter.Window{Kind: exporter.Kind(part.Kind), Start: s.from, Duration: s.until.Sub(s.from), Resource: one.resource()}
		all = append(all, &Profile{Profile: exporter.NewParsedProfile(w, part.Profile), Name: name, Replica: one.replica})
	}
	return all, nil
}

// part returns the profile of one type; nil if it has no samples.
func (s *pyroscope) part(ctx context.Context, t querier.Type, of querier.Selector) (*profile.Profile, error) {
	part, err := s.client.MergeProfile(ctx, of)
	if err != nil || part == nil || !t.Momentary() {
		return part, err
	}
	// A point a second: profiles of several replicas that come at the same time count once.
	all, err := s.client.SelectSeries(ctx, of, nil, time.Second, 0)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, one := range all {
		n += len(one.Points)
	}
	if n > 1 { // the server adds up the values of all moments
		part.Scale(1 / float64(n))
	}
	return part, nil
}

func (one series) resource() *resource.Resource {
	attributes := []attribute.KeyValue{attribute.String("service.name", one.service)}
	if one.replica != "" {
		attributes = append(attributes, attribute.String("service.instance.id", one.replica))
	}
	return resource.NewSchemaless(attributes...)
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
