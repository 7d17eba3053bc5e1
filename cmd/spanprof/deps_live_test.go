// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The command promises to be light.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	t.Logf("%d modules: %s", len(modules), strings.Join(modules, " "))
	for _, m := range modules {
		for _, heavy := range []string{"google.golang.org/grpc", "go.opentelemetry.io/collector", "go.opentelemetry.io/proto", "google.golang.org/protobuf"} {
			if strings.HasPrefix(m, heavy) {
				t.Errorf("the command depends on %s", m)
			}
		}
	}
}
