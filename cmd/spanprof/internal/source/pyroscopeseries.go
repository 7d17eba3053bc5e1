// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"fmt"
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

// replicaLabels are the labels that tell replicas apart, unless a SOURCE names
// one: of OpenTelemetry, as a collector and as exporter/pyroscope send them, of
// Kubernetes' discovery, Prometheus and pyroscope-go.
var replicaLabels = []string{"service_instance_id", "k8s_pod_name", "pod", "instance", "hostname", "host_name"}

// series is what is read as one profile: the types of a kind, of a replica.
type series struct {
	service, label, replica string
	group                   string // the types' name: process_cpu
	kind                    exporter.Kind
	types                   []string
}

// series asks which types of which replicas the server has.
func (s *pyroscope) series(ctx context.Context, want Want) ([]series, error) {
	sets, err := s.client.Series(ctx, s.selector, append([]string{"__profile_type__", "service_name"}, s.by...), s.from, s.until)
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s: the server has no profiles of %s from %s until %s", s.client, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
	}
	label := ""
	if i := slices.IndexFunc(s.by, func(name string) bool {
		return slices.ContainsFunc(sets, func(set map[string]string) bool { return set[name] != "" })
	}); i >= 0 {
		label = s.by[i]
	} else if len(s.by) == 1 {
		return nil, fmt.Errorf("%s: by=%s: no profile of %s has that label", s.client, s.by[0], s.selector)
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
				return nil, fmt.Errorf("%s: the query means more than %d profiles: make it narrower, or have fewer by another by=LABEL", s.client, maxProfiles)
			}
			i = len(found)
			found = append(found, one)
		}
		if !slices.Contains(found[i].types, profileType) {
			found[i].types = append(found[i].types, profileType)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: the server has none of the wanted profiles of %s from %s until %s", s.client, s.selector, s.from.Format(time.RFC3339), s.until.Format(time.RFC3339))
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
	name := s.client.String() + " " + one.group + selector
	parts := make([]*profile.Profile, 0, len(one.types))
	for i, profileType := range one.types {
		part, err := s.part(ctx, querier.Selector{Type: profileType, Labels: selector, From: s.from, Until: s.until})
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", one.group, selector, err)
		}
		if part == nil {
			continue // nothing in the range
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

// part returns the profile of one type; nil if it has no samples.
func (s *pyroscope) part(ctx context.Context, of querier.Selector) (*profile.Profile, error) {
	part, err := s.client.MergeProfile(ctx, of)
	if err != nil || part == nil || !isSnapshot(of.Type) {
		return part, err
	}
	// A point a second: profiles of several replicas that come at the same time count once.
	all, err := s.client.SelectSeries(ctx, of, nil, time.Second, 0, false)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, one := range all {
		n += len(one.Points)
	}
	if n > 1 { // the server adds up what is there at one moment and at the next
		part.Scale(1 / float64(n))
	}
	return part, nil
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
