// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	theirs "github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
)

// pushed is the part of a request to /ingest by which Pyroscope names and adds a profile.
type pushed struct {
	App, SpyName, SampleRate, Units, Aggregation string

	SampleTypeConfig map[string]any
	SampleTypes      []string // of the pprof
}

// ingest keeps the newest request of each profile type.
type ingest struct {
	t *testing.T

	mu     sync.Mutex
	pushes map[string]pushed
}

func (s *ingest) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	read := func(field string) []byte {
		f, _, err := r.FormFile(field)
		if err != nil {
			return nil
		}
		defer func() { _ = f.Close() }()
		data, err := io.ReadAll(f)
		if err != nil {
			s.t.Error(err)
		}
		return data
	}
	q := r.URL.Query()
	app, _, _ := strings.Cut(q.Get("name"), "{")
	p := pushed{App: app, SpyName: q.Get("spyName"), SampleRate: q.Get("sampleRate"), Units: q.Get("units"), Aggregation: q.Get("aggregationType")}
	parsed, err := profile.ParseData(read("profile"))
	if err != nil {
		s.t.Error(err)
		return
	}
	kind := parsed.SampleType[0].Type
	for _, t := range parsed.SampleType {
		p.SampleTypes = append(p.SampleTypes, t.Type+"/"+t.Unit)
	}
	if config := read("sample_type_config"); config != nil {
		if err := json.Unmarshal(config, &p.SampleTypeConfig); err != nil {
			s.t.Error(err)
		}
		if strings.Contains(string(config), "mutex_count") { // block has the same sample types
			kind = "mutex"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes[kind] = p
}

// Our pushes have the metadata of pyroscope-go's for every kind, so that Pyroscope gives them
// the same profile types.
func TestPushesAreNamedAsByPyroscopeGo(t *testing.T) {
	collect := func(push func(address string)) map[string]pushed {
		s := &ingest{t: t, pushes: map[string]pushed{}}
		server := httptest.NewServer(s)
		defer server.Close()
		push(server.URL)
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pushes
	}
	livetest.Until(t, func() bool { return !cpuInUse() })
	want := collect(func(address string) {
		p, err := theirs.Start(theirs.Config{
			ApplicationName: "shop",
			ServerAddress:   address,
			UploadRate:      time.Hour,
			ProfileTypes: []theirs.ProfileType{
				theirs.ProfileCPU, theirs.ProfileAllocObjects, theirs.ProfileInuseSpace,
				theirs.ProfileGoroutines, theirs.ProfileMutexCount, theirs.ProfileBlockCount,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		livetest.Until(t, cpuInUse)
		p.Flush(true)
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	got := collect(func(address string) {
		push, err := pyroscope.New(address)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profiler.New(push,
			profiler.WithKinds(exporter.KindCPU, exporter.KindHeap, exporter.KindGoroutine, exporter.KindMutex, exporter.KindBlock),
			profiler.WithWindow(time.Hour),
			profiler.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))
		if err != nil {
			t.Fatal(err)
		}
		livetest.Until(t, func() bool { return p.Status().CPU == "profiling" })
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if len(want) != 5 {
		t.Errorf("pyroscope-go has pushed %d kinds, want 5: %v", len(want), want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pushes by kind (-pyroscope-go +ours):\n%s", diff)
	}
}

// cpuInUse reports whether a CPU profile is running. It starts none to find out:
// pyroscope-go would be refused just then, and it tries again only after its UploadRate.
func cpuInUse() bool {
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		return false
	}
	return strings.Contains(stacks.String(), "runtime/pprof.profileWriter")
}
