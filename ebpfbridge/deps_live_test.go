// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package ebpfbridge_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinksNoGRPC keeps publishing small.
func TestLinksNoGRPC(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "google.golang.org/grpc") || strings.HasPrefix(path, "go.opentelemetry.io/proto") {
			t.Errorf("links %s", path)
		}
	}
}
