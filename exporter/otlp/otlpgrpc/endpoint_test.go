// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"strings"
	"testing"

	"github.com/spanprof/spanprof/exporter/otlp/internal/settings"
)

// An endpoint is a URL or a target of gRPC. net/url refuses some targets, or reads a scheme.
func TestEndpoint(t *testing.T) {
	for _, tt := range []struct {
		endpoint string
		insecure bool // by the environment
		target   string
		plain    bool
	}{
		{"", false, "localhost:4317", false},
		{"http://collector:4317/ignored", false, "collector:4317", true},
		{"HTTPS://collector:4317", true, "collector:4317", false},
		{"unix:///run/collector.sock", false, "unix:///run/collector.sock", true},
		{"dns:///collector:4317", true, "dns:///collector:4317", true},
		{"otel_collector:4317", false, "otel_collector:4317", false},
		{"[::1]:4317", true, "[::1]:4317", true},
	} {
		target, plain, err := endpoint(settings.Config{Endpoint: tt.endpoint, Insecure: tt.insecure})
		if err != nil || target != tt.target || plain != tt.plain {
			t.Errorf("%s: got %s, plain %t, %v, want %s, %t", tt.endpoint, target, plain, err, tt.target, tt.plain)
		}
	}
	for _, text := range []string{"http://%zz", "user:secret@localhost:4317", "localhost:4317/secret", "dns:///user:secret@localhost:4317", "http://user:secret/@localhost:4317", "http://secret%"} {
		if target, _, err := endpoint(settings.Config{Endpoint: text}); err == nil || strings.Contains(err.Error(), "secret") || target != "localhost:4317" {
			t.Errorf("%s: got %s, %v, want the default and an error", text, target, err)
		}
	}
}

func TestCheckMetadata(t *testing.T) {
	for key, value := range map[string]string{"authorization": "secret\n", "a b": "secret", "": "secret", "x": "secretß", "a!": "secret"} {
		if err := checkMetadata(key, value); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error without the value", key, err)
		}
	}
	for key, value := range map[string]string{"X-y_z.1": "a ~", "trace-bin": "\x00\xff"} {
		if err := checkMetadata(key, value); err != nil {
			t.Error(err)
		}
	}
}
