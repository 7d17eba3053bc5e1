// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/exporter"
)

// defaultMeasure is the same as in go tool pprof.
const defaultMeasure = 30 * time.Second

// pprofSource is a process with the paths of net/http/pprof.
type pprofSource struct {
	address string
	target  *Target
	kinds   []exporter.Kind // none means all that the server has
	measure time.Duration
}

func newPprofSource(u *url.URL) (Source, error) {
	if strings.Trim(u.Path, "/") == "" {
		u.Path = pprofPath + "/"
	}
	prefix, name, ok := strings.Cut(u.Path+"/", pprofPath+"/")
	if !ok {
		return nil, fmt.Errorf("%s: the address of a process with net/http/pprof has %s/ in its path", u, pprofPath)
	}
	kinds, measure, err := parsePprof(name, u.Query())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	c, err := client.New()
	if err != nil {
		return nil, err
	}
	target := &Target{base: url.URL{Scheme: u.Scheme, Host: u.Host, Path: prefix + pprofPath + "/"}, client: c}
	return &pprofSource{address: u.String(), target: target, kinds: kinds, measure: cmp.Or(measure, defaultMeasure)}, nil
}

func (s *pprofSource) String() string { return s.address }

func (s *pprofSource) Read(ctx context.Context, wanted []exporter.Kind, skip func(error), each func(*Profile) error) error {
	defer s.target.Close()
	kinds, err := s.wanted(wanted)
	if err != nil {
		return err
	}
	profiles, errs := make([]*Profile, len(kinds)), make([]error, len(kinds))
	var all sync.WaitGroup
	for i, kind := range kinds {
		all.Go(func() { profiles[i], errs[i] = s.measured(ctx, kind, s.measure) })
	}
	all.Wait()
	if s.kinds == nil {
		leaveOut(errs)
	}
	for i, p := range profiles {
		if err := pass(ctx, skip, each, p, errs[i]); err != nil {
			return err
		}
	}
	return nil
}

// wanted returns the kinds to measure.
func (s *pprofSource) wanted(want []exporter.Kind) ([]exporter.Kind, error) {
	kinds := slices.Clone(s.kinds)
	if kinds == nil {
		kinds = slices.Clone(TargetKinds)
	}
	kinds = slices.DeleteFunc(kinds, func(k exporter.Kind) bool { return !wants(want, k) })
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%s: such an address does not have the wanted kinds, %v", s.address, want)
	}
	return kinds, nil
}

// leaveOut forgets the kinds that the server lacks, as long as it has another:
// a service need not register all.
func leaveOut(errs []error) {
	has := func(err error) bool {
		status, ok := errors.AsType[*client.StatusError](err)
		return !ok || status.Code != http.StatusNotFound
	}
	if slices.ContainsFunc(errs, has) {
		for i, err := range errs {
			if !has(err) {
				errs[i] = nil
			}
		}
	}
}

// measured returns the window of a kind that begins now.
func (s *pprofSource) measured(ctx context.Context, kind exporter.Kind, measure time.Duration) (*Profile, error) {
	start := time.Now()
	raw, err := s.target.Fetch(ctx, kind, measure)
	if err != nil {
		return nil, err
	}
	parsed := raw.Parsed
	if Cumulative(kind) {
		select {
		case <-time.After(measure):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		end, err := s.target.Fetch(ctx, kind, 0)
		if err != nil {
			return nil, err
		}
		if parsed, err = Delta(raw.Parsed, end.Parsed); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.target.Name(), kind, err)
		}
	}
	w := windowOf(kind, parsed)
	if w.Start.IsZero() {
		w.Start = start
	}
	w.Resource = s.target.Resource(parsed)
	return &Profile{Profile: exporter.NewParsedProfile(w, parsed), Name: s.target.Name() + " " + string(kind), Replica: s.target.base.Host}, nil
}

// Resource returns the attributes of the process that are in its address and in p.
func (t *Target) Resource(p *profile.Profile) *resource.Resource {
	attributes := []attribute.KeyValue{attribute.String("service.instance.id", t.base.Host)}
	if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
		if name := filepath.Base(p.Mapping[0].File); len(name) <= maxText {
			attributes = append(attributes, attribute.String("process.executable.name", name))
		}
	}
	if id := BuildID(p); id != "" {
		attributes = append(attributes, attribute.String("process.executable.build_id.gnu", id))
	}
	return resource.NewSchemaless(attributes...)
}

// windowOf returns the window of a profile by the times in it.
func windowOf(kind exporter.Kind, p *profile.Profile) exporter.Window {
	w := exporter.Window{Kind: kind, Duration: time.Duration(p.DurationNanos)}
	if p.TimeNanos != 0 {
		w.Start = time.Unix(0, p.TimeNanos)
	}
	return w
}
