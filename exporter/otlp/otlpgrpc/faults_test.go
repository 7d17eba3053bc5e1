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
	"github.com/spanprof/spanprof/internal/nettest"
	"github.com/spanprof/spanprof/internal/report"
)

// faults are what may be wrong for three minutes, and what must become of the
// profiles that are exported meanwhile.
var faults = []struct {
	name string
	// One of them is set: the server's answer, why there is no connection, or a
	// connection that becomes silent after a profile.
	answer answerFunc
	dial   error
	silent bool
	// rejected is that nothing arrives; by default all does.
	rejected bool
	// doubtful is that the backend may have the profiles twice.
	doubtful bool
	// pause is how long the exporter leaves the backend alone.
	pause time.Duration
	// reported is part of a reported error.
	reported string
}{
	{name: "Unavailable", answer: fail(codes.Unavailable, "starting", 0), doubtful: true, reported: "code = Unavailable desc = starting"},
	{name: "ResourceExhausted with RetryInfo", answer: fail(codes.ResourceExhausted, "slow down", 100*time.Second), pause: 100 * time.Second, reported: "slow down"},
	{name: "Unimplemented", answer: fail(codes.Unimplemented, "no profiles here", 0), rejected: true, reported: "no profiles here"},
	{name: "hang", answer: func(ctx context.Context, _ int) (*collectorpb.ExportProfilesServiceResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, doubtful: true, reported: "DeadlineExceeded"},
	{name: "partial success", answer: partialSuccess, rejected: true, reported: "partial success: 1 profile(s) rejected: no CPU here"},
	{name: "no server", dial: errors.New("connection refused"), reported: "connection refused"},
	{name: "silent connection", silent: true, doubtful: true, reported: "DeadlineExceeded"},
}

func fail(code codes.Code, text string, after time.Duration) answerFunc {
	s := status.New(code, text)
	if after > 0 {
		var err error
		if s, err = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err != nil {
			panic(err)
		}
	}
	return func(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error) { return nil, s.Err() }
}

func partialSuccess(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error) {
	return &collectorpb.ExportProfilesServiceResponse{PartialSuccess: &collectorpb.ExportProfilesPartialSuccess{
		RejectedProfiles: 1, ErrorMessage: "no CPU here",
	}}, nil
}

// faulty returns a backend in memory with fault number i for that long, and an exporter to it.
func faulty(t *testing.T, i int, d time.Duration) (*backend, *exporter.Queue) {
	t.Helper()
	fault, start := faults[i], time.Now()
	end := start.Add(d)
	listener := bufconn.Listen(64 << 10)
	b, _ := serve(t, listener, func(ctx context.Context, n int) (*collectorpb.ExportProfilesServiceResponse, error) {
		if fault.answer != nil && time.Now().Before(end) {
			return fault.answer(ctx, n)
		}
		return healthy(ctx, n)
	})
	e, err := otlpgrpc.New(
		otlp.WithEndpointURL("passthrough:///collector"),
		otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(insecure.NewCredentials())),
		otlpgrpc.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if fault.dial != nil && time.Now().Before(end) {
				return nil, fault.dial
			}
			c, err := listener.DialContext(ctx)
			if fault.silent && err == nil && time.Since(start) < time.Second {
				return nettest.Silent(c, start.Add(time.Second)), nil
			}
			return c, err
		})),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b, e
}

func TestFaultForMinutes(t *testing.T) {
	for i, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			log := new(errorLog)
			t.Cleanup(report.Synchronous(log.Handle))
			synctest.Test(t, func(t *testing.T) {
				b, e := faulty(t, i, 3*time.Minute)
				for range 3 {
					if err := e.Export(t.Context(), newProfile()); err != nil {
						t.Error(err)
					}
					time.Sleep(30 * time.Second)
				}
				if err := e.ForceFlush(t.Context()); (err != nil) != tt.rejected {
					t.Errorf("ForceFlush: %v", err)
				}
				stats := e.Status()
				calls, _ := b.seen()
				switch {
				case tt.rejected:
					if stats.Lost["rejected"] != 3 || stats.Retries != 0 || calls != 3 {
						t.Errorf("%+v after %d calls, want 3 rejected profiles", stats, calls)
					}
				case stats.Exported != 3 || len(stats.Lost) != 0 || stats.Retries == 0:
					t.Errorf("%+v, want 3 exported after retries", stats)
				}
				if tt.doubtful != (stats.Duplicates > 0) {
					t.Errorf("%d possible duplicates", stats.Duplicates)
				}
				if tt.pause > 0 && calls != 3+2 {
					t.Errorf("%d calls in 3 min with pauses of %v", calls, tt.pause)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
			if !strings.Contains(log.String(), tt.reported) {
				t.Errorf("reported %s, want %q", log, tt.reported)
			}
		})
	}
}

// The pings that look for a silent connection are not too many for a server of
// gRPC's: it keeps the connection, however rare the profiles and slow its answers.
func TestPingsAreTolerated(t *testing.T) {
	for _, interval := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute} {
		t.Run(interval.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := bufconn.Listen(64 << 10)
				serve(t, listener, func(ctx context.Context, n int) (*collectorpb.ExportProfilesServiceResponse, error) {
					time.Sleep(9 * time.Second)
					return healthy(ctx, n)
				})
				var connections atomic.Int32
				e, err := otlpgrpc.New(otlp.WithEndpointURL("passthrough:///collector"), otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(insecure.NewCredentials())),
					otlpgrpc.WithDialOptions(grpc.WithIdleTimeout(0), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
						connections.Add(1)
						return listener.DialContext(ctx)
					})))
				if err != nil {
					t.Fatal(err)
				}
				for range 20 {
					if err := e.Export(t.Context(), newProfile()); err != nil {
						t.Error(err)
					}
					time.Sleep(interval)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if s := e.Status(); s.Exported != 20 || s.Retries != 0 || connections.Load() != 1 {
					t.Errorf("%+v by %d connections, want 20 at once by 1", s, connections.Load())
				}
			})
		})
	}
}
