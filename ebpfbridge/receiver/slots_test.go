// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// inBubble serves in memory with a fake clock.
func inBubble(t *testing.T, take takeFunc, test func(t *testing.T, p *bufconn.Listener)) {
	synctest.Test(t, func(t *testing.T) {
		p := bufconn.Listen(64 << 10)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		r, _ := newReceiver(t)
		go func() { done <- r.serve(ctx, p, take) }()
		test(t, p)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// silent connects and sends a preface and settings of HTTP/2, and perhaps more.
func silent(t *testing.T, p *bufconn.Listener, more string) <-chan time.Duration {
	t.Helper()
	conn, err := p.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan time.Duration, 1)
	started := time.Now()
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
		ended <- time.Since(started)
	}()
	if more != "" {
		go func() { _, _ = io.WriteString(conn, more) }()
	}
	return ended
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// client returns a client in the bubble. The caller closes it.
func client(t *testing.T, p *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Silent connections do not keep an agent's messages out, and end.
func TestSilentConnections(t *testing.T) {
	taken := 0
	take := func(context.Context, string, *collectorpb.ExportProfilesServiceRequest) error {
		taken++
		return nil
	}
	inBubble(t, take, func(t *testing.T, p *bufconn.Listener) {
		var ended []<-chan time.Duration
		for i := range maxConnections {
			ended = append(ended, silent(t, p, []string{"", preface}[i%2]))
		}
		synctest.Wait()
		conn := client(t, p)
		started := time.Now()
		// The first silent connection that ends leaves its place.
		if err := conn.Invoke(t.Context(), "/"+serviceName+"/Export", new(collectorpb.ExportProfilesServiceRequest), new(collectorpb.ExportProfilesServiceResponse), grpc.WaitForReady(true)); err != nil {
			t.Error(err)
		}
		if d := time.Since(started); taken != 1 || d > 15*time.Second {
			t.Errorf("%d messages taken after %v, want 1 within 15 s", taken, d)
		}
		for i, c := range ended {
			if d := <-c; d > maxIdle {
				t.Errorf("silent connection %d ended after %v, want %v at most", i, d, maxIdle)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A connection that answers pings ends too, if it has no messages, or half of one. The
// half is counted.
func TestIdleConnection(t *testing.T) {
	for _, stream := range []bool{false, true} {
		inBubble(t, nil, func(t *testing.T, p *bufconn.Listener) {
			reported := reports(t)
			conn := client(t, p)
			conn.Connect()
			for conn.GetState() != connectivity.Ready {
				conn.WaitForStateChange(t.Context(), conn.GetState())
			}
			if stream {
				if _, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, "/"+serviceName+"/Export"); err != nil {
					t.Fatal(err)
				}
			}
			started := time.Now()
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			conn.WaitForStateChange(ctx, connectivity.Ready)
			stop()
			if d := time.Since(started); d < maxIdle || d > 3*maxIdle {
				t.Errorf("stream %v: the connection ended after %v, want about %v", stream, d, maxIdle)
			}
			if n := len(reported); (n == 1) != stream {
				t.Errorf("stream %v: got %d reports", stream, n)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
