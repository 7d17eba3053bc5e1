// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/internal/settings"
)

// New returns an exporter that sends profiles by OTLP/gRPC, by default with TLS to
// localhost:4317. It does not wait for a connection. The options are from package otlp, except
// WithHTTPClient.
//
// The error is about an invalid option.
func New(opts ...otlp.Option) (*exporter.Queue, error) {
	c, unusable, err := settings.New(opts)
	if err != nil {
		return nil, fmt.Errorf("otlpgrpc: %w", err)
	}
	if c.Client != nil {
		return nil, errors.New("otlpgrpc: WithHTTPClient is for HTTP: use otlp.New, or WithDialOptions")
	}
	target, insecure, err := endpoint(c)
	if err != nil && c.EndpointKey == "" {
		return nil, fmt.Errorf("otlpgrpc: WithEndpointURL: %w", err)
	}
	if err != nil {
		unusable = errors.Join(unusable, fmt.Errorf("%s is ignored: %w", c.EndpointKey, err))
	}
	for key, value := range c.Headers {
		err := checkMetadata(key, value)
		switch {
		case err == nil:
		case !c.HeadersFromEnvironment:
			return nil, fmt.Errorf("otlpgrpc: %w", err)
		default:
			delete(c.Headers, key)
			unusable = errors.Join(unusable, fmt.Errorf("%w: it is ignored", err))
		}
	}
	if unusable != nil {
		otel.Handle(fmt.Errorf("otlpgrpc: environment: %w", unusable))
	}
	conn, err := grpc.NewClient(target, dialOptions(c, insecure)...)
	if err != nil {
		return nil, fmt.Errorf("otlpgrpc: endpoint %q: %w", target, err)
	}
	q, err := exporter.NewQueue("otlpgrpc", newDestination(c, target, conn), c.Queue)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return q, nil
}

// WithDialOptions adds options of gRPC, which replace the defaults. Set certificates by
// grpc.WithTransportCredentials. A stats handler of otelgrpc makes a span of every export.
// grpc.WithKeepaliveParams replaces the pings that detect a silent connection: 30 s after
// the last frame, while a call waits, with 20 s for the answer.
func WithDialOptions(opts ...grpc.DialOption) otlp.Option {
	opts = slices.Clone(opts)
	return settings.OptionFunc(func(c *settings.Config) {
		before, _ := c.Dial.([]grpc.DialOption)
		c.Dial = slices.Concat(before, opts)
	})
}

// keepAlive detects a silent connection, which nothing else would
// replace. It takes about a minute of the ten that a profile may wait. Without a call no
// ping is sent, because gRPC servers would refuse it.
var keepAlive = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}

// maxHeader bounds the header of an answer. gRPC's default is 16 MiB.
const maxHeader = 64 << 10

func dialOptions(c settings.Config, plain bool) []grpc.DialOption {
	creds := credentials.NewTLS(c.TLS)
	if plain {
		creds = insecure.NewCredentials()
	}
	opts := []grpc.DialOption{
		grpc.WithUserAgent("spanprof"),
		grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepAlive),
		grpc.WithMaxHeaderListSize(maxHeader),
	}
	if !c.NoGzip {
		opts = append(opts, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	dial, _ := c.Dial.([]grpc.DialOption)
	return append(opts, dial...)
}

// endpoint returns the target and whether connections have no TLS. With an error it is the
// default. A text that is no HTTP URL is a target of gRPC: net/url would read the host of
// otel_collector:4317 as a scheme.
func endpoint(c settings.Config) (target string, plain bool, err error) {
	const standard = "localhost:4317"
	switch text := c.Endpoint; {
	case text == "" && !c.ForProfiles:
		return standard, c.Insecure, nil
	case isHTTP(text):
		u, err := settings.ParseURL(text)
		if err != nil {
			return standard, c.Insecure, err
		}
		return u.Host, strings.EqualFold(u.Scheme, "http"), nil
	case isUnix(text):
		return text, true, nil
	case text == "" || strings.Contains(text, "@") || strings.Contains(text, "/") && !strings.Contains(text, ":/"):
		// The error leaves the text out: it may have a password.
		return standard, c.Insecure, errors.New("want a URL, a host and port, as in localhost:4317, or a target of gRPC with a scheme, as in unix:///run/collector.sock; credentials go into WithHeaders")
	default:
		return text, c.Insecure, nil
	}
}

func isHTTP(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isUnix recognises unix:path, unix:///path and unix-abstract:name.
func isUnix(target string) bool {
	return strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:")
}

// checkMetadata returns an error if gRPC cannot send the pair (PROTOCOL-HTTP2), instead of
// one for every attempt. The error does not contain the value.
func checkMetadata(key, value string) error {
	key = strings.ToLower(key)
	switch {
	case key == "" || strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}):
		return fmt.Errorf("header %q is not possible: use a name of letters, digits, dashes, underscores and dots", key)
	case strings.HasSuffix(key, "-bin"): // sent as base64
		return nil
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("the value of header %s is not possible: use one line of printable ASCII, or a name that ends in -bin", key)
	}
	return nil
}
