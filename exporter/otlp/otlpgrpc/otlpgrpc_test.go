// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/internal/testcert"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/internal/report"
)

func newProfile() *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     exporter.KindCPU,
		Start:    time.Now(),
		Resource: resource.NewSchemaless(attribute.String("service.name", "shop")),
	}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Sample:     []*profile.Sample{{Value: []int64{1, 1e7}, Label: map[string][]string{"span_name": {"GET /"}}}},
	})
}

// export gives a profile to a new exporter, which is shut down with the test.
func export(t *testing.T, opts ...otlp.Option) *exporter.Queue {
	t.Helper()
	e, err := otlpgrpc.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := e.Export(t.Context(), newProfile()); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEnvironment(t *testing.T) {
	b, _ := start(t, healthy)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+b.target+"/ignored")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
	e := export(t)
	if err := e.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, md := b.seen()
	for key, want := range map[string]string{
		"authorization":                     "Bearer x",
		"otlp-profiles-development-version": "1",
		"grpc-accept-encoding":              "gzip",
	} {
		if got := strings.Join(md.Get(key), ","); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if s := e.Status(); s.Exported != 1 {
		t.Errorf("%+v, want 1 exported", s)
	}
}

func TestTargets(t *testing.T) {
	b, _ := start(t, healthy)
	for name, env := range map[string]map[string]string{
		"target":   {"OTEL_EXPORTER_OTLP_ENDPOINT": "dns:///" + b.target, "OTEL_EXPORTER_OTLP_INSECURE": "true"},
		"profiles": {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": "http://" + b.target},
		"no gzip":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + b.target, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			if err := export(t).ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMutualTLS(t *testing.T) {
	certFile, keyFile, pair := testcert.New(t)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	b, _ := start(t, healthy, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	})))
	t.Run("environment", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "https://"+b.target)
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certFile)
		t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certFile)
		t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", keyFile)
		if err := export(t).ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("option", func(t *testing.T) {
		creds := credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}})
		if err := export(t, otlp.WithEndpointURL(b.target), otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(creds))).ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestOptionErrors(t *testing.T) {
	for want, opt := range map[string]otlp.Option{
		"WithEndpointURL: want a URL": otlp.WithEndpointURL(""),
		"negative bound":              otlp.WithQueue(exporter.QueueConfig{Timeout: -1}),
		"no transport security set":   otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(nil)),
	} {
		if _, err := otlpgrpc.New(nil, opt); err == nil || !strings.HasPrefix(err.Error(), "otlpgrpc: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
}

func TestEndpointErrors(t *testing.T) {
	for _, text := range []string{"http://%zz", "user:secret@localhost:4317", "localhost:4317/secret", "dns:///user:secret@localhost:4317"} {
		_, err := otlpgrpc.New(otlp.WithEndpointURL(text))
		if err == nil || !strings.Contains(err.Error(), "WithEndpointURL: want") || strings.Contains(err.Error(), "secret") {
			t.Errorf("New with %s: %v", text, err)
		}
	}
	for _, text := range []string{"http://user:secret/@localhost:4317", "http://%zz", "user:secret@localhost:4317", "http://secret%"} {
		log := new(errorLog)
		t.Cleanup(report.Synchronous(log.Handle))
		t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", text)
		e, err := otlpgrpc.New()
		if err != nil {
			t.Errorf("New with %s: %v", text, err)
			continue
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := log.String(); !strings.Contains(got, "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT is ignored: want") || strings.Contains(got, "secret") {
			t.Errorf("%s: reported %s", text, got)
		}
	}
}

// Endpoints that are targets of gRPC. net/url refuses some, or reads a scheme.
func TestTargetsWithoutScheme(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", "true")
	for _, target := range []string{"127.0.0.1:4711", "otel_collector:4317", "collector:4317", "[::1]:4317"} {
		names := manual.NewBuilderWithScheme("dns")
		names.BuildCallback = func(t resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) {
			_ = conn.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: t.Endpoint()}}})
		}
		dialed := make(chan string, 1)
		dial := func(_ context.Context, address string) (net.Conn, error) {
			select {
			case dialed <- address:
			default:
			}
			return nil, errors.New("enough")
		}
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", target)
		t.Cleanup(report.Synchronous(new(errorLog).Handle))
		e, err := otlpgrpc.New(otlpgrpc.WithDialOptions(grpc.WithContextDialer(dial), grpc.WithResolvers(names)))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Export(t.Context(), newProfile()); err != nil {
			t.Error(err)
		}
		if got := <-dialed; got != target {
			t.Errorf("%s: dialed %s", target, got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = e.Shutdown(ctx) // it has not been sent
	}
}

func TestImpossibleHeaders(t *testing.T) {
	for key, value := range map[string]string{"authorization": "secret\n", "a b": "secret", "": "secret", "x": "secretß", "a!": "secret"} {
		_, err := otlpgrpc.New(otlp.WithHeaders(map[string]string{key: value}))
		if err == nil || !strings.Contains(err.Error(), "header") || strings.Contains(err.Error(), "secret") {
			t.Errorf("New with header %q: %v", key, err)
		}
	}
	log := new(errorLog)
	t.Cleanup(report.Synchronous(log.Handle))
	b, _ := start(t, healthy)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+b.target)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Good=1,a!=secret,x=secret%C3%9F,y=secret%0Ax")
	if err := export(t, nil).ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if _, md := b.seen(); strings.Join(md.Get("good"), "") != "1" {
		t.Errorf("metadata %v", md)
	}
	for _, want := range []string{`header "a!" is not possible`, "header x is not possible", "header y is not possible"} {
		if !strings.Contains(log.String(), want) || strings.Contains(log.String(), "secret") {
			t.Errorf("reported %s, want %s", log, want)
		}
	}
	blob := map[string]string{"trace-bin": "\x00\xff"}
	if err := export(t, otlp.WithHeaders(blob)).ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if _, md := b.seen(); strings.Join(md.Get("trace-bin"), "") != "\x00\xff" {
		t.Errorf("metadata %v", md)
	}
}

// What the server repeats of a credential is not reported.
func TestRepeatedCredential(t *testing.T) {
	log := new(errorLog)
	t.Cleanup(report.Synchronous(log.Handle))
	b, _ := start(t, func(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error) {
		return nil, status.Error(codes.Unauthenticated, "Bearer secret99 is unknown: secret99")
	})
	e := export(t, otlp.WithEndpointURL("http://"+b.target), otlp.WithHeaders(map[string]string{"authorization": "Bearer secret99"}))
	if err := e.Shutdown(t.Context()); err == nil || strings.Contains(err.Error(), "secret99") {
		t.Errorf("Shutdown: %v", err)
	}
	if got := log.String(); !strings.Contains(got, "[redacted] is unknown: [redacted]") || strings.Contains(got, "secret99") {
		t.Errorf("reported %s", got)
	}
}

// errorLog has the reported errors.
type errorLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(err.Error() + "\n")
}

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
