// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// replicaLabels are the labels that tell replicas apart, unless a SOURCE names
// one: of OpenTelemetry, as a collector and as exporter/pyroscope send them, of
// Kubernetes' discovery, Prometheus and pyroscope-go.
var replicaLabels = []string{"service_instance_id", "k8s_pod_name", "pod", "instance", "hostname", "host_name"}

// maxProfiles bounds the profiles that one SOURCE has read, each a request or
// more.
const maxProfiles = 1000

// pyroscope is a query of a Pyroscope server.
type pyroscope struct {
	address     string
	querier     *querier
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
	c, err := clientFromEnvironment()
	if err != nil {
		return nil, err
	}
	base := url.URL{Scheme: strings.TrimPrefix(u.Scheme, "pyroscope+"), Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
	s.querier = &querier{client: c, base: base.String(), name: withoutUser(u)}
	return s, nil
}

func (s *pyroscope) String() string { return s.address }

// series is what is read as one profile: the types of a kind, of a replica.
type series struct {
	service, label, replica string
	group                   string // the types' name: process_cpu
	kind                    exporter.Kind
	types                   []string
}

func (s *pyroscope) Read(ctx context.Context, want Want, skip func(error), each func(*Profile) error) error {
	defer s.querier.client.http.CloseIdleConnections()
	all, err := s.series(ctx, want)
	if err != nil {
		return err
	}
	for _, one := range all {
		p, err := s.read(ctx, one)
		if err != nil {
			if skip == nil || ctx.Err() != nil {
				return err
			}
			skip(err)
			continue
		}
		if p == nil {
			continue
		}
		if err := each(p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// series asks which types of which replicas the server has.
func (s *pyroscope) series(ctx context.Context, want Want) ([]series, error) {
	sets, err := s.querier.series(ctx, s.selector, append([]string{"__profile_type__", "service_name"}, s.by...), s.from, s.until)
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s: the server has no profiles of %s from %s until %s", s.querier.name, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	label := ""
	if i := slices.IndexFunc(s.by, func(name string) bool {
		return slices.ContainsFunc(sets, func(set map[string]string) bool { return set[name] != "" })
	}); i >= 0 {
		label = s.by[i]
	} else if len(s.by) == 1 {
		return nil, fmt.Errorf("%s: by=%s: no profile of %s has that label", s.querier.name, s.by[0], s.selector)
	}
	var found []series
	for _, set := range sets {
		profileType := set["__profile_type__"]
		if s.profileType != "" && profileType != s.profileType {
			continue
		}
		group, sampleType, _ := strings.Cut(profileType, ":")
		kind := kindOfType(group, sampleType)
		if len(want.Kinds) > 0 && !slices.Contains(want.Kinds, kind) {
			continue
		}
		one := series{service: set["service_name"], label: label, replica: set[label], group: group, kind: kind}
		i := slices.IndexFunc(found, func(f series) bool {
			return f.service == one.service && f.replica == one.replica && f.group == group && f.kind == kind
		})
		if i < 0 {
			if len(found) == maxProfiles {
				return nil, fmt.Errorf("%s: the query means more than %d profiles: make it narrower, or have fewer by another by=LABEL", s.querier.name, maxProfiles)
			}
			i = len(found)
			found = append(found, one)
		}
		if !slices.Contains(found[i].types, profileType) {
			found[i].types = append(found[i].types, profileType)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: the server has none of the wanted profiles of %s from %s until %s", s.querier.name, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	slices.SortFunc(found, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.replica, b.replica), cmp.Compare(a.group, b.group))
	})
	for _, f := range found {
		slices.SortFunc(f.types, func(a, b string) int { // samples before cpu, alloc before inuse, as in pprof
			return cmp.Or(cmp.Compare(typeOrder(a), typeOrder(b)), cmp.Compare(a, b))
		})
	}
	return found, nil
}

// typeOrder puts counts before what is counted.
func typeOrder(profileType string) int {
	if strings.Contains(profileType, ":samples:") {
		return 0
	}
	return 1
}

// kindOfType tells the kind by a profile type's name and the rest of it.
func kindOfType(group, rest string) exporter.Kind {
	switch group {
	case "process_cpu":
		return exporter.KindCPU
	case "memory":
		return exporter.KindHeap
	case "goroutine", "goroutines":
		return exporter.KindGoroutine
	case "mutex", "block", "wall", "host":
		return exporter.Kind(group)
	}
	if strings.HasPrefix(rest, "cpu:nanoseconds") {
		return exporter.KindCPU
	}
	return KindUnknown
}

// read returns the merged profile of a series, with all its types; nil if it has
// no samples. Live memory and goroutines are averages of the range.
func (s *pyroscope) read(ctx context.Context, one series) (*Profile, error) {
	matchers := []string{"service_name=" + strconv.Quote(one.service)}
	if one.label != "" {
		matchers = append(matchers, one.label+"="+strconv.Quote(one.replica))
	}
	selector := narrowed(s.selector, matchers)
	name := s.querier.name + " " + one.group + selector
	parts := make([]*profile.Profile, 0, len(one.types))
	for i, profileType := range one.types {
		data, err := s.querier.mergeProfile(ctx, name, profileType, selector, s.from, s.until)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			continue // nothing in the range
		}
		part, err := Decode(data)
		if err != nil {
			return nil, s.querier.client.decodeError(name, data, err)
		}
		if isSnapshot(profileType) {
			n, err := s.querier.profiles(ctx, name, profileType, selector, s.from, s.until)
			if err != nil {
				return nil, err
			}
			if n > 1 { // the server adds up what is there at one moment and at the next
				part.Scale(1 / float64(n))
			}
		}
		if err := widen(part, one.types, i); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	merged, err := profile.Merge(parts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// The server gives the range as the time, and one version of it its end.
	w := exporter.Window{Kind: one.kind, Start: s.from, Duration: s.until.Sub(s.from), Resource: one.resource()}
	merged.TimeNanos, merged.DurationNanos = w.Start.UnixNano(), w.Duration.Nanoseconds()
	return &Profile{Profile: exporter.NewParsedProfile(w, merged), Name: name, Replica: one.replica}, nil
}

// isSnapshot reports whether the values of a profile type are what is there at a
// moment: live memory, and goroutines.
func isSnapshot(profileType string) bool {
	group, rest, _ := strings.Cut(profileType, ":")
	return strings.HasPrefix(rest, "inuse_") || kindOfType(group, rest) == exporter.KindGoroutine
}

func (one series) resource() *resource.Resource {
	attributes := []attribute.KeyValue{attribute.String("service.name", one.service)}
	switch {
	case one.replica == "":
	case slices.Contains(replicaLabels, one.label):
		attributes = append(attributes, attribute.String("service.instance.id", one.replica))
	default:
		attributes = append(attributes, attribute.String(one.label, one.replica))
	}
	return resource.NewSchemaless(attributes...)
}

// narrowed adds conditions to a label selector.
func narrowed(selector string, matchers []string) string {
	inner := strings.TrimSuffix(strings.TrimSpace(strings.Trim(selector, "{}")), ",")
	if inner != "" {
		matchers = append([]string{inner}, matchers...)
	}
	return "{" + strings.Join(matchers, ",") + "}"
}

// widen gives a profile of one type room for the others, whose i-th it is: the
// server answers one type at a time, pprof files have all of a kind.
func widen(p *profile.Profile, types []string, i int) error {
	if len(p.SampleType) != 1 {
		return fmt.Errorf("the server answers with %d types of samples, want 1", len(p.SampleType))
	}
	p.SampleType = nil
	for _, profileType := range types {
		part := strings.Split(profileType, ":")
		if len(part) != 5 {
			return fmt.Errorf("%q is no profile type", profileType)
		}
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: part[1], Unit: part[2]})
		p.PeriodType = &profile.ValueType{Type: part[3], Unit: part[4]}
	}
	p.DefaultSampleType = ""
	for _, s := range p.Sample {
		value := make([]int64, len(types))
		value[i] = s.Value[0]
		s.Value = value
	}
	return nil
}

// parseTime reads now, now-1h, RFC 3339, and unix times in seconds or one of
// their thousandths, which their size tells apart.
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
