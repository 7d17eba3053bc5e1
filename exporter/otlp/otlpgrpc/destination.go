// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/internal/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/settings"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/servertext"
)

var _ exporter.Destination = (*destination)(nil)

// exportMethod is the only method of OTLP's profiles service. The slim messages
// have no stubs for it.
const exportMethod = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// versionHeader is the state of the signal's development, as in OTLP/HTTP.
const versionHeader = "otlp-profiles-development-version"

// connectTime is how long a call waits for a connection that has failed. A slower
// connection serves the next call.
const connectTime = 500 * time.Millisecond

// destination makes a call for each profile.
type destination struct {
	target   string
	conn     *grpc.ClientConn
	config   settings.Config
	metadata metadata.MD
	redactor servertext.Redactor
	warnings convert.Warnings
}

func newDestination(c settings.Config, target string, conn *grpc.ClientConn) *destination {
	md := metadata.New(c.Headers)
	md.Set(versionHeader, "1")
	return &destination{target: target, conn: conn, config: c, metadata: md, redactor: servertext.NewRedactor(md, nil)}
}

// Send makes one attempt.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	request, err := convert.Message(d.config.Convert, p)
	if err != nil || request == nil {
		return err
	}
	d.reconnect(ctx)
	response := new(collectorpb.ExportProfilesServiceResponse)
	var server peer.Peer
	err = d.conn.Invoke(metadata.NewOutgoingContext(ctx, d.metadata), exportMethod, request, response, grpc.Peer(&server))
	if err != nil {
		return judged(fmt.Errorf("%s: %w", d.target, d.cleaned(err)), server.Addr != nil)
	}
	return d.warnings.Check("otlpgrpc: "+d.target, response, d.redactor.Clean)
}

// reconnect retries a failed connection now, not after gRPC's own pause, and waits a
// moment. Otherwise a call would fail at once, with an error that may be minutes old.
func (d *destination) reconnect(ctx context.Context) {
	if d.conn.GetState() != connectivity.TransientFailure {
		return
	}
	d.conn.ResetConnectBackoff()
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	d.conn.WaitForStateChange(ctx, connectivity.TransientFailure)
}

// Shutdown ends the connection.
func (d *destination) Shutdown(ctx context.Context) error {
	err := d.conn.Close()
	d.warnings.Wait(ctx)
	d.config.Convert.Wait(ctx)
	return err
}

// cleaned returns the error of a call, with a text fit for a log.
func (d *destination) cleaned(err error) error {
	p := status.Convert(err).Proto() // a copy
	p.Message = d.redactor.Clean(p.GetMessage())
	return status.ErrorProto(p)
}

// judged returns the error of a call after httpsend.Judge. connected is whether a server may
// have received the request.
func judged(err error, connected bool) error {
	s := status.Convert(err)
	var after time.Duration
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			after = info.GetRetryDelay().AsDuration()
		}
	}
	err = httpsend.Judge(httpsend.Failure{Code: uint32(s.Code()), Text: s.Message(), After: after}, err)
	if retry, ok := errors.AsType[*exporter.RetryError](err); ok && !connected {
		retry.Refused = true
	}
	return err
}
