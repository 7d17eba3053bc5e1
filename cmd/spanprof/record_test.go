// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/record"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
)

func TestRecordUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"http://localhost"}, "-o DIR is missing"},
		{[]string{"-o", "d"}, "name one address or more"},
		{[]string{"-o", "d", "-for", "1ms", "http://localhost"}, "at least a second"},
		{[]string{"http://localhost", "-o", "d"}, "-o stands after an argument: flags come first"},
		{[]string{"-o", "main.go", "http://localhost"}, "record: -o main.go: "},
		{[]string{"-o", "d", "-max-bytes", "0", "http://localhost"}, "leaves no room"},
		{[]string{"-o", "d", "-label", "x", "http://localhost"}, "KEY=VALUE"},
		{[]string{"-o", "d", "-label", "service.instance.id=a", "http://a", "http://b"}, "names one process"},
		{[]string{"-o", "d", "http://a/debug/spanprof/"}, "ends in /debug/pprof/"},
		{[]string{"-o", "d", "http://u:secret@a/"}, "SPANPROF_USER"},
	} {
		code, _, stderr := spanprof(t, append([]string{"record"}, test.args...)...)
		if code != exitFailed || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret") {
			t.Errorf("record %q: code %d, stderr %q", test.args, code, stderr)
		}
	}
}

// No address leads out of the directory.
func TestRecordDirectories(t *testing.T) {
	for _, address := range []string{"http://..", "http://.", "http://h/../..", "http://[::1]:80", "https://a.b/x"} {
		target, err := source.NewTarget(address + "/debug/pprof/")
		if err != nil {
			t.Fatal(err)
		}
		if dir, name := filepath.Split(record.DirOf("d", target)); filepath.Clean(dir) != "d" || strings.Trim(name, ".") == "" {
			t.Errorf("%s: %s", address, record.DirOf("d", target))
		}
	}
}
