// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package otlpgrpc_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// A server that is away, comes, and goes: nothing is lost, and the attempts
// without a connection make no duplicate.
func TestServerComesLater(t *testing.T) {
	reporttest.Handle(t, new(errorLog).Handle)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	b, _ := start(t, healthy)
	var up sync.Map
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		address := target
		if _, ok := up.Load("up"); ok {
			address = b.target
		}
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	e := export(t, otlp.WithEndpointURL("passthrough:///"+target), otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(insecure.NewCredentials())), otlpgrpc.WithDialOptions(grpc.WithContextDialer(dial)))
	wait(t, func() bool { return e.Status().Retries > 0 })
	up.Store("up", true)
	if err := e.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if s := e.Status(); s.Exported != 1 || s.Duplicates != 0 {
		t.Errorf("%+v, want 1 exported and no duplicate", s)
	}
}

// wait returns when done returns true. It polls more and more rarely.
func wait(t *testing.T, done func() bool) {
	t.Helper()
	bound := livetest.Context(t, livetest.Most)
	for d := time.Millisecond; !done(); d *= 2 {
		select {
		case <-time.After(d):
		case <-bound.Done():
			t.Fatalf("still not after %v", livetest.Most)
		}
	}
}

func TestShutdownWhileServerHangs(t *testing.T) {
	called := make(chan struct{})
	release := make(chan struct{})
	b, _ := start(t, func(ctx context.Context, n int) (*collectorpb.ExportProfilesServiceResponse, error) {
		close(called)
		<-release
		return healthy(ctx, n)
	})
	e := export(t, otlp.WithEndpointURL("http://"+b.target))
	<-called
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := e.Shutdown(ctx) // while the server hangs
	close(release)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 profile(s) not exported") {
		t.Errorf("Shutdown: %v", err)
	}
	if s := e.Status(); s.Lost["unsent"] != 1 {
		t.Errorf("%+v, want 1 unsent", s)
	}
}
