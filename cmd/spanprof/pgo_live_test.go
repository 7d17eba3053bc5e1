// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"os/exec"
	"testing"
)

func TestPGOCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	writeFile(t, "tiny/go.mod", []byte("module example.com/tiny\n\ngo 1.26\n"))
	writeFile(t, "tiny/main.go", []byte("package main\n\nvar n = 4\n\nfunc main() { println(hash(n)) }\n\nfunc hash(n int) int { return n*n - n/3 }\n"))
	if out, err := exec.Command("go", "build", "-C", "tiny", "-ldflags=-s", "-o", "../tiny.exe").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	outcome{exitFailed, "", "make it by spanprof pgo"}.check(t, "pgo", "-check", "tiny.exe")
	cpuFile(t, "default.pgo", "main.hash", "", 2000)
	cpuFile(t, "both/1.pprof", "main.hash", "", 1500)
	cpuFile(t, "both/2.pprof", "main.sort", "", 500)
	outcome{exitDone, "2000 samples", ""}.check(t, "pgo", "-o", "both.pgo", "both")
	outcome{exitDone, "tiny.exe has all 2 hot functions of default.pgo", ""}.check(t, "pgo", "-check", "tiny.exe")
	outcome{exitDone, "tiny.exe lacks 1 of the 3 hot functions of both.pgo: 25.0 % of the CPU time is in them.", ""}.check(t, "pgo", "-check", "tiny.exe", "both.pgo")
	outcome{exitDone, " 25.00%  25.00%  main.sort\n", ""}.check(t, "pgo", "-check", "tiny.exe", "both.pgo")
	outcome{exitFailed, "", "both.pgo: not an executable"}.check(t, "pgo", "-check", "both.pgo")
	outcome{exitFailed, "", "absent"}.check(t, "pgo", "-check", "absent")
}
