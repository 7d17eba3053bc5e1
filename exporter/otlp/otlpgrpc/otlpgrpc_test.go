// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

var oneSample = exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, &profile.Profile{
	SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
	Sample:     []*profile.Sample{{Value: []int64{1}}},
})

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
	if err := e.Export(t.Context(), oneSample); err != nil {
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

// certificate returns a certificate of 127.0.0.1 that signs itself, in files and parsed.
func certificate(t *testing.T) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	pair = server.TLS.Certificates[0]
	server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, pair
}

func TestMutualTLS(t *testing.T) {
	certFile, keyFile, pair := certificate(t)
	b, _ := start(t, healthy, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert})))
	t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "https://"+b.target)
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certFile)
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certFile)
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", keyFile)
	if err := export(t).ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOptionErrors(t *testing.T) {
	for want, opt := range map[string]otlp.Option{
		"WithEndpointURL: want a URL": otlp.WithEndpointURL(""),
		"negative bound":              otlp.WithQueue(exporter.QueueConfig{Timeout: -1}),
		"or a target of gRPC":         otlp.WithEndpointURL("user:secret@localhost:4317"),
		"header":                      otlp.WithHeaders(map[string]string{"a!": "secret"}),
		"no transport security set":   otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(nil)),
	} {
		if _, err := otlpgrpc.New(nil, opt); err == nil || !strings.HasPrefix(err.Error(), "otlpgrpc: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
}

// What the environment has is ignored if it cannot be used, and what an option has is an error.
func TestUnusable(t *testing.T) {
	reported := reporttest.Collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "user:secret@localhost:4317")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Good=1,a!=secret")
	e, err := otlpgrpc.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`header "a!" is not possible`, "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT is ignored: want"} {
		if got := strings.Join(reported(), "\n"); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("reported %s, want %s", got, want)
		}
	}
}

// What the server repeats of a credential is not reported.
func TestRepeatedCredential(t *testing.T) {
	reported := reporttest.Collect(t)
	b, _ := start(t, func(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error) {
		return nil, status.Error(codes.Unauthenticated, "Bearer secret99 is unknown: secret99")
	})
	e := export(t, otlp.WithEndpointURL("http://"+b.target), otlp.WithHeaders(map[string]string{"authorization": "Bearer secret99"}))
	if err := e.Shutdown(t.Context()); err == nil || strings.Contains(err.Error(), "secret99") {
		t.Errorf("Shutdown: %v", err)
	}
	if got := strings.Join(reported(), "\n"); !strings.Contains(got, "[redacted] is unknown: [redacted]") || strings.Contains(got, "secret99") {
		t.Errorf("reported %s", got)
	}
}
