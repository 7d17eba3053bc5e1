// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"context"
	"net/http"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"

	"github.com/spanprof/spanprof/internal/httpsend"
)

// attempts records an exporter's attempts, as its client sees them.
type attempts struct {
	t         *testing.T
	transport *http.Transport

	mu      sync.Mutex
	of      map[string][]*attempt // by the id of the profile
	over    bool                  // Shutdown has returned
	running sync.WaitGroup
}

// attempt is one attempt to send a profile.
type attempt struct {
	ctx   context.Context
	ended bool
	taken bool // as the server answered
	cut   bool // its time ended before an answer
}

func (k attempt) wasTaken() bool { return k.taken }

func newAttempts(t *testing.T) *attempts {
	return &attempts{t: t, transport: httpsend.NewTransport(), of: make(map[string][]*attempt)}
}

// begin records an attempt to send the profile with that id. The caller calls end once.
func (a *attempts) begin(ctx context.Context, id string) (end func(taken bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over && ctx.Err() == nil {
		a.t.Error("an attempt that has time begins after Shutdown has returned")
	}
	k := &attempt{ctx: ctx}
	a.of[id] = append(a.of[id], k)
	late := a.over // without time left: it fails immediately
	if !late {
		a.running.Add(1)
	}
	return func(taken bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		k.ended, k.taken, k.cut = true, taken, !taken && ctx.Err() != nil
		if !late {
			a.running.Done()
		}
	}
}

// seen returns the attempts so far, by the id of the profile.
func (a *attempts) seen() map[string][]attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := make(map[string][]attempt, len(a.of))
	for id, of := range a.of {
		for _, k := range of {
			seen[id] = append(seen[id], *k)
		}
	}
	return seen
}

// end must be called after Shutdown returns: the open attempts have no time left.
func (a *attempts) end() {
	a.mu.Lock()
	a.over = true
	for id, of := range a.of {
		for _, k := range of {
			if !k.ended && k.ctx.Err() == nil {
				a.t.Errorf("the attempt at %s goes on after Shutdown has returned", id)
			}
		}
	}
	a.mu.Unlock()
	a.running.Wait()
	a.transport.CloseIdleConnections()
}

// RoundTrip records the attempts over HTTP.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	read := r.Clone(r.Context())
	var err error
	if read.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	ids, err := idsOf(read)
	if err != nil {
		return nil, err
	}
	end := a.begin(r.Context(), ids[0])
	response, err := a.transport.RoundTrip(r)
	end(err == nil && response.StatusCode == http.StatusOK)
	return response, err
}

// invoke records the attempts over gRPC.
func (a *attempts) invoke(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ids, err := idsOfProfiles(request.(*collectorpb.ExportProfilesServiceRequest))
	if err != nil {
		return err
	}
	end := a.begin(ctx, ids[0])
	err = invoker(ctx, method, request, reply, conn, opts...)
	end(err == nil)
	return err
}
