// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// needModules skips the test where the module registry does not serve what the
// module in dir is built from.
func needModules(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var failure strings.Builder
	cmd.Stderr = &failure
	if cmd.Run() == nil {
		return
	}
	registry := regexp.MustCompile(`.*: (reading|dial tcp) .*`).FindString(failure.String())
	if registry == "" {
		t.Fatalf("go list in %s: %s", dir, &failure)
	}
	loudskip.Test(t, registry)
}
