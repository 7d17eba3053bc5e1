// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/pgo"
)

// TargetKinds are the kinds that a process with net/http/pprof can have.
var TargetKinds = []exporter.Kind{exporter.KindCPU, exporter.KindHeap, exporter.KindGoroutine, exporter.KindMutex, exporter.KindBlock}

// Cumulative reports whether profiles of net/http/pprof count since the process began. A
// window is then the difference of two answers.
func Cumulative(kind exporter.Kind) bool {
	return kind == exporter.KindHeap || kind == exporter.KindMutex || kind == exporter.KindBlock
}

const pprofPath = "/debug/pprof"

// Target is a process with the paths of net/http/pprof. It is safe for
// concurrent use.
type Target struct {
	base   url.URL // ends in /debug/pprof/, without a query
	client *client.Client
}

// NewTarget returns the process at the address of its server, or of the list of its profiles.
func NewTarget(arg string) (*Target, error) {
	src, err := Parse(arg)
	if err != nil {
		return nil, err
	}
	s, ok := src.(*pprofSource)
	switch {
	case !ok && !strings.Contains(arg, "://"):
		return nil, fmt.Errorf("%q: an address begins with http:// or https://", arg)
	case !ok || s.kinds != nil || strings.Contains(s.address, "?"):
		return nil, fmt.Errorf("%s: the address of a process with net/http/pprof ends in %s/", src, pprofPath)
	}
	return s.target, nil
}

// Name returns the address without credentials.
func (t *Target) Name() string { return t.base.String() }

// Raw is a profile as the server sent it.
type Raw struct {
	Data   []byte
	Parsed *profile.Profile
}

// Fetch returns a profile of a kind: the CPU profile of the next measure, which
// is in whole seconds, or what another kind's profile has at once. It is a
// *client.StatusError if the server refuses.
func (t *Target) Fetch(ctx context.Context, kind exporter.Kind, measure time.Duration) (*Raw, error) {
	u := t.base
	switch kind {
	case exporter.KindCPU:
		u.Path += "profile"
	default:
		u.Path += string(kind)
		measure = 0
	}
	if measure > 0 {
		u.RawQuery = "seconds=" + strconv.Itoa(int(measure/time.Second))
	}
	name := u.String()
	data, err := get(ctx, t.client, name, name, measure)
	if err != nil {
		return nil, err
	}
	parsed, err := pgo.Parse(data)
	if err != nil {
		return nil, decodeError(t.client, name, data, err)
	}
	parts := columns.Split(parsed, name)
	for _, part := range parts {
		if part.Kind == string(kind) {
			return &Raw{Data: data, Parsed: part.Profile}, nil
		}
	}
	return nil, fmt.Errorf("%s: the answer is a %s profile, want %s", name, parts[0].Kind, kind)
}

// Close frees the connections.
func (t *Target) Close() { t.client.CloseIdleConnections() }

// parsePprof returns the kinds of a name under /debug/pprof/, nil for all, and how long to
// measure, 0 if unknown.
func parsePprof(name string, query url.Values) (kinds []exporter.Kind, measure time.Duration, err error) {
	switch name = strings.Trim(name, "/"); name {
	case "":
	case "profile":
		kinds = []exporter.Kind{exporter.KindCPU}
	case "allocs", "heap": // two views of the same profile
		kinds = []exporter.Kind{exporter.KindHeap}
	default:
		if kinds = []exporter.Kind{exporter.Kind(name)}; !slices.Contains(TargetKinds, kinds[0]) || kinds[0] == exporter.KindCPU {
			return nil, 0, fmt.Errorf("there is no profile %q to be read: known are profile, heap, allocs, goroutine, mutex and block, and %s/ for all", name, pprofPath)
		}
	}
	for name, values := range query {
		if name != "seconds" || len(values) != 1 {
			return nil, 0, fmt.Errorf("the parameter %q is not known: only seconds is", name)
		}
		n, err := strconv.ParseUint(values[0], 10, 16)
		if err != nil || n == 0 {
			return nil, 0, fmt.Errorf("seconds=%s is no number of seconds from 1 to 65535", values[0])
		}
		measure = time.Duration(n) * time.Second
	}
	return kinds, measure, nil
}
