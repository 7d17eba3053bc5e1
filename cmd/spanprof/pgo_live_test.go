// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import "testing"

func TestPGOCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	writeFile(t, "tiny/go.mod", []byte("module example.com/tiny\n\ngo 1.26\n"))
	writeFile(t, "tiny/main.go", []byte("package main\n\nvar n = 4\n\nfunc main() { println(hash(n)) }\n\nfunc hash(n int) int { return n*n - n/3 }\n"))
	outcome{exitFailed, "", "make it by spanprof pgo"}.check(t, "pgo", "-check", "tiny")
	hash := cpuFile(t, "hash.pprof", "main.hash", "", 2000)
	cpuFile(t, "both/1.pprof", "main.hash", "", 1500)
	cpuFile(t, "both/2.pprof", "main.sort", "", 500)
	outcome{exitDone, "2000 samples", ""}.check(t, "pgo", "-o", "both.pgo", "both")
	outcome{exitDone, "tiny has all 2 hot functions of hash.pprof", ""}.check(t, "pgo", "-check", "tiny", hash)
	outcome{exitDone, "tiny lacks 1 of the 3 hot functions of both.pgo: 25.0 % of the CPU time is in them.", ""}.check(t, "pgo", "-check", "./tiny", "both.pgo")
	outcome{exitDone, " 25.00%  25.00%  main.sort\n", ""}.check(t, "pgo", "-check", "./tiny", "both.pgo")
	outcome{exitFailed, "", "both.pgo: not an executable"}.check(t, "pgo", "-check", "both.pgo", hash)
	outcome{exitFailed, "", "absent"}.check(t, "pgo", "-check", "./absent")
}
