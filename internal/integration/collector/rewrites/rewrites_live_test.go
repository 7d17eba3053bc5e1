// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

// Package rewrites tests a fault of the Collector that our documents describe.
package rewrites

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// A Collector moves the keys of resource attributes to the string table, whatever the
// sender does. Pyroscope and Parca do not read them there. When this test fails, mend what
// exporter/otlp/README.md, docs/links.md and examples/collector state about a Collector.
func TestCollectorRewritesKeys(t *testing.T) {
	profiles := pprofile.NewProfiles()
	profiles.Dictionary().StringTable().Append("")
	resource := profiles.ResourceProfiles().AppendEmpty().Resource()
	resource.Attributes().PutStr("service.name", "shop")
	message, err := new(pprofile.ProtoMarshaler).MarshalProfiles(profiles)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(message, []byte("service.name")) {
		t.Fatalf("got no key in %q", message)
	}
	// KeyValue.key is field 1. The string table is another field.
	if bytes.Contains(message, []byte("\x0a\x0cservice.name")) {
		t.Errorf("got the key inline in %q, want it in the string table", message)
	}
}
