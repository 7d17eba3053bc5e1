// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"context"
	"fmt"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/partial"
	"github.com/spanprof/spanprof/exporter/otlp/internal/parts"
	"github.com/spanprof/spanprof/internal/servertext"
)

var _ exporter.Destination = (*destination)(nil)

// exportMethod is the only one of OTLP's profiles service. The slim messages
// come without its stubs.
const exportMethod = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// versionHeader says which state of the signal's development the message is in,
// as in OTLP/HTTP.
const versionHeader = "otlp-profiles-development-version"

// connectTime is how long a call waits for a connection that has failed. One that takes
// longer to come about is there for the next call.
const connectTime = 500 * time.Millisecond

// destination makes a call for each profile.
type destination struct {
	target string
	conn   *grpc.ClientConn
	parts.Splitter
	metadata metadata.MD
	redactor servertext.Redactor
	warnings partial.Warnings
}

func newDestination(c config, conn *grpc.ClientConn, converter *convert.Converter) *destination {
	md := metadata.New(c.headers)
	md.Set(versionHeader, "1")
	d := &destination{target: c.target, conn: conn, metadata: md, redactor: servertext.NewRedactor(md, nil), Splitter: parts.Splitter{Name: "otlpgrpc", Converter: converter}}
	return d
}

// Send makes one attempt.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	request, err := d.Converter.Request(p)
	if err != nil {
		return err
	}
	d.reconnect(ctx)
	response := new(collectorpb.ExportProfilesServiceResponse)
	var server peer.Peer
	err = d.conn.Invoke(metadata.NewOutgoingContext(ctx, d.metadata), exportMethod, request, response, grpc.Peer(&server))
	if err != nil {
		return classify(fmt.Errorf("%s: %w", d.target, d.cleaned(err)), server.Addr != nil)
	}
	return d.warnings.Check("otlpgrpc: "+d.target, response, d.redactor.Clean)
}

// reconnect has a connection that has failed tried now, not when gRPC's own pause is
// over, and gives it a moment: in that state a call would fail at once, with the error
// of an attempt that may be minutes old.
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
	d.Reporter.Wait(ctx)
	return err
}

// cleaned returns the error of a call with a text that is fit for a log.
func (d *destination) cleaned(err error) error {
	p := status.Convert(err).Proto() // a copy
	p.Message = d.redactor.Clean(p.GetMessage())
	return status.ErrorProto(p)
}

// classify tells by its code whether an error can be gone later, as OTLP's
// specification lists them. connected says that there was a server which the
// request may have reached.
func classify(err error, connected bool) error {
	s := status.Convert(err)
	retryInfo := retryInfoOf(s)
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
	case codes.ResourceExhausted:
		// Without RetryInfo the message is too large, or a quota is spent.
		if retryInfo == nil {
			return err
		}
	default:
		return err
	}
	return &exporter.RetryError{
		Err:     err,
		After:   retryInfo.GetRetryDelay().AsDuration(),
		Refused: s.Code() == codes.ResourceExhausted || !connected,
	}
}

func retryInfoOf(s *status.Status) *errdetails.RetryInfo {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info
		}
	}
	return nil
}
