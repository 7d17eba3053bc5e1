// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/exporter/pyroscope"
)

// queue is an exporter across a network.
type queue interface {
	exporter.Exporter
	Status() exporter.Status
}

// protocol is one of those by which profiles travel.
type protocol struct {
	name string
	grpc bool
	// new returns an exporter for the server at address. Its attempts are seen by a,
	// unless that is nil.
	new func(address string, a *attempts, c exporter.QueueConfig) (queue, error)
}

var protocols = []protocol{
	{name: "pyroscope", new: func(address string, a *attempts, c exporter.QueueConfig) (queue, error) {
		all := []pyroscope.Option{pyroscope.WithQueue(c)}
		if a != nil {
			all = append(all, pyroscope.WithHTTPClient(&http.Client{Transport: a}))
		}
		return pyroscope.New("http://"+address, all...)
	}},
	{name: "otlp", new: func(address string, a *attempts, c exporter.QueueConfig) (queue, error) {
		all := []otlp.Option{otlp.WithEndpointURL("http://" + address + "/v1development/profiles"), otlp.WithQueue(c)}
		if a != nil {
			all = append(all, otlp.WithHTTPClient(&http.Client{Transport: a}))
		}
		return otlp.New(all...)
	}},
	{name: "otlpgrpc", grpc: true, new: func(address string, a *attempts, c exporter.QueueConfig) (queue, error) {
		all := []otlp.Option{otlp.WithEndpointURL("http://" + address), otlp.WithQueue(c)}
		if a != nil {
			all = append(all, otlpgrpc.WithDialOptions(grpc.WithUnaryInterceptor(a.invoke)))
		}
		return otlpgrpc.New(all...)
	}},
}

// export hands over the profiles of these numbers, which end now.
func export(t *testing.T, q queue, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := q.Export(t.Context(), newProfile(idOf(i))); err != nil {
			t.Fatal(err)
		}
	}
}

// newProfile returns a CPU profile of one sample, which has the id. It is of 3 kB when
// it is compressed.
func newProfile(id string) *exporter.Profile {
	name := make([]byte, 3<<10)
	_, _ = rand.Read(name)
	f := &profile.Function{ID: 1, Name: hex.EncodeToString(name)}
	l := &profile.Location{ID: 1, Address: 0x1000, Line: []profile.Line{{Function: f}}}
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     exporter.KindCPU,
		Start:    time.Now().Add(-time.Second),
		Duration: time.Second,
		Resource: resource.NewSchemaless(attribute.String("service.name", "shop")),
	}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Function:   []*profile.Function{f},
		Location:   []*profile.Location{l},
		Sample: []*profile.Sample{{
			Location: []*profile.Location{l},
			Value:    []int64{1, 1e7},
			Label:    map[string][]string{"span_id": {id}, "profile_id": {id}, "trace_id": {id + id}},
		}},
	})
}

// until waits until is returns true for the account of q, or ctx ends.
func until(ctx context.Context, t *testing.T, q queue, what string, is func(exporter.Status) bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for s := q.Status(); !is(s); s = q.Status() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no %s in time: %+v", what, s)
		}
	}
}

// lost returns the number of lost profiles.
func lost(s exporter.Status) (n uint64) {
	for _, lost := range s.Lost {
		n += lost
	}
	return n
}
