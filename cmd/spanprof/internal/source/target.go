// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
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

// maxAnswer bounds an answer, as it is sent.
const maxAnswer = 64 << 20

// answerTime is how long an answer may take beyond what is measured for it.
const answerTime = 30 * time.Second

// Target is a process with the paths of net/http/pprof. It is safe for
// concurrent use.
type Target struct {
	base   url.URL // ends in /debug/pprof/, without a query
	client *client.Client
}

// NewTarget returns the process at the address of its server, or of the list of its profiles.
func NewTarget(arg string) (*Target, error) {
	if !strings.Contains(arg, "://") {
		return nil, fmt.Errorf("%q: an address begins with http:// or https://", arg)
	}
	u, err := ParseAddress(arg)
	if err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = pprofPath
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	if u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || !strings.HasSuffix(u.Path, pprofPath+"/") {
		return nil, fmt.Errorf("%s: the address of a process with net/http/pprof begins with http:// or https://, and ends in %s/", withoutUser(u), pprofPath)
	}
	c, err := client.New()
	if err != nil {
		return nil, err
	}
	return &Target{base: url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}, client: c}, nil
}

// Name returns the address without credentials.
func (t *Target) Name() string { return t.base.String() }

// Fetch returns a profile of a kind: the CPU profile of the next measure, which
// is in whole seconds, or what another kind's profile has at once. data is as the server has
// sent it. It is a *client.StatusError if the server refuses.
func (t *Target) Fetch(ctx context.Context, kind exporter.Kind, measure time.Duration) (data []byte, parsed *profile.Profile, err error) {
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
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, name, http.NoBody)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, client.WithoutAddress(err))
	}
	if _, data, err = t.client.Fetch(r, name, measure+answerTime, maxAnswer); err != nil {
		return nil, nil, err
	}
	if parsed, err = pgo.Parse(data); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	parts := columns.Split(parsed, name)
	for _, part := range parts {
		if part.Kind == string(kind) {
			return data, part.Profile, nil
		}
	}
	return nil, nil, fmt.Errorf("%s: the answer is a %s profile, want %s", name, parts[0].Kind, kind)
}

// Close frees the connections.
func (t *Target) Close() { t.client.CloseIdleConnections() }

// Attributes returns the attributes of the process that are in its address and in p. The
// name of the service is as OpenTelemetry has it for an unknown one.
func (t *Target) Attributes(p *profile.Profile) map[string]string {
	all := map[string]string{"service.name": "unknown_service", "service.instance.id": t.base.Host}
	if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
		if name := filepath.Base(p.Mapping[0].File); len(name) <= maxText {
			all["process.executable.name"] = name
			all["service.name"] = "unknown_service:" + name
		}
	}
	return all
}
