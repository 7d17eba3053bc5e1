// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// inMemory returns a backend in memory and an exporter to it. dial changes connections.
func inMemory(t *testing.T, answer answerFunc, dial func(net.Conn) (net.Conn, error)) (*backend, *exporter.Queue) {
	t.Helper()
	listener := bufconn.Listen(64 << 10)
	b, _ := serve(t, listener, answer)
	e, err := otlpgrpc.New(
		otlp.WithEndpointURL("passthrough:///collector"),
		otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0)),
		otlpgrpc.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := listener.DialContext(ctx)
			if err != nil {
				return nil, err
			}
			return dial(c)
		})),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b, e
}

func export3(t *testing.T, e *exporter.Queue) {
	t.Helper()
	for range 3 {
		if err := e.Export(t.Context(), oneSample); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
	}
}

// Package httpsend judges codes, and the queue counts. Here are the answers that only gRPC has.
func TestAnswers(t *testing.T) {
	slower, err := status.New(codes.ResourceExhausted, "slow down").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(100 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		err      error
		partial  *collectorpb.ExportProfilesPartialSuccess
		calls    int // in three minutes; after them it succeeds
		lost     uint64
		reported string
	}{
		{name: "RetryInfo", err: slower.Err(), calls: 3 + 2, reported: "slow down"},
		{name: "Unimplemented", err: status.Error(codes.Unimplemented, "no profiles here"), calls: 3, lost: 3, reported: "no profiles here"},
		{name: "partial success", partial: &collectorpb.ExportProfilesPartialSuccess{RejectedProfiles: 1, ErrorMessage: "no CPU here"}, calls: 3, lost: 3, reported: "partial success: 1 profile(s) rejected: no CPU here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reported := reporttest.Collect(t)
			synctest.Test(t, func(t *testing.T) {
				end := time.Now().Add(3 * time.Minute)
				b, e := inMemory(t, func(ctx context.Context, n int) (*collectorpb.ExportProfilesServiceResponse, error) {
					if time.Now().After(end) {
						return healthy(ctx, n)
					}
					return &collectorpb.ExportProfilesServiceResponse{PartialSuccess: tt.partial}, tt.err
				}, func(c net.Conn) (net.Conn, error) { return c, nil })
				export3(t, e)
				if err := e.ForceFlush(t.Context()); (err != nil) != (tt.lost > 0) {
					t.Errorf("ForceFlush: %v", err)
				}
				calls, _ := b.seen()
				if s := e.Status(); s.Lost["rejected"] != tt.lost || s.Exported != 3-tt.lost || calls != tt.calls || s.Duplicates != 0 {
					t.Errorf("%+v after %d calls, want %d lost after %d", s, calls, tt.lost, tt.calls)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
			if got := strings.Join(reported(), "\n"); !strings.Contains(got, tt.reported) {
				t.Errorf("reported %s, want %q", got, tt.reported)
			}
		})
	}
}

// silent is a connection with a fault from a time on. It stays open, but writes are
// discarded and nothing arrives, as behind a proxy that has lost the connection.
type silent struct {
	net.Conn

	from time.Time
}

func (s silent) isSilent() bool { return !time.Now().Before(s.from) }

func (s silent) Read(b []byte) (int, error) {
	for {
		n, err := s.Conn.Read(b)
		if err != nil || !s.isSilent() {
			return n, err
		}
	}
}

func (s silent) Write(b []byte) (int, error) {
	if s.isSilent() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// A connection that fails or becomes silent is replaced. Only after a silent one may a profile have
// arrived twice.
func TestConnections(t *testing.T) {
	for _, becomesSilent := range []bool{false, true} {
		reporttest.Collect(t)
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, e := inMemory(t, healthy, func(c net.Conn) (net.Conn, error) {
				switch {
				case !becomesSilent && time.Since(start) < 3*time.Minute:
					_ = c.Close()
					return nil, errors.New("connection refused")
				case becomesSilent && time.Since(start) < time.Second:
					return silent{c, start.Add(time.Second)}, nil
				}
				return c, nil
			})
			export3(t, e)
			if err := e.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			if s := e.Status(); s.Exported != 3 || s.Retries == 0 || (s.Duplicates > 0) != becomesSilent {
				t.Errorf("silent %t: %+v, want 3 exported after retries", becomesSilent, s)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The pings that look for a silent connection are not too many for a server of
// gRPC's: it keeps the connection, however rare the profiles and slow its answers.
func TestPingsAreTolerated(t *testing.T) {
	for _, interval := range []time.Duration{10 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var connections atomic.Int32
			_, e := inMemory(t, func(ctx context.Context, n int) (*collectorpb.ExportProfilesServiceResponse, error) {
				time.Sleep(9 * time.Second)
				return healthy(ctx, n)
			}, func(c net.Conn) (net.Conn, error) {
				connections.Add(1)
				return c, nil
			})
			for range 20 {
				if err := e.Export(t.Context(), oneSample); err != nil {
					t.Error(err)
				}
				time.Sleep(interval)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if s := e.Status(); s.Exported != 20 || s.Retries != 0 || connections.Load() != 1 {
				t.Errorf("%v: %+v by %d connections, want 20 at once by 1", interval, s, connections.Load())
			}
		})
	}
}
