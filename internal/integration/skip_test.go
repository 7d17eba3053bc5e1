// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// needModules skips the test where the module registry does not serve what the
// module in dir is built from. The line goes into the file that SPANPROF_SKIPPED
// names as well, so that a run of all tests can end with what it left out.
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
	reason := t.Name() + ": " + registry
	if name := os.Getenv("SPANPROF_SKIPPED"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintln(f, reason)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip("SKIPPED: " + reason)
}
