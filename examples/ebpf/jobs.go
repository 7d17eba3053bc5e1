// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
)

type job struct {
	name string
	run  func()
}

// jobs are in the kernel, in Go and, where there is a C compiler, in C: see c.go.
var jobs = []job{{"read in the kernel", readProgram}, {"parse JSON in Go", parse}}

func readProgram() {
	file := must(os.Open(must(os.Executable())))
	defer func() { _ = file.Close() }()
	for range 20 {
		_ = must(file.Seek(0, io.SeekStart))
		_ = must(io.Copy(io.Discard, file))
	}
}

func parse() {
	text := append(append([]byte("["), bytes.Repeat([]byte(`{"id": 1, "names": ["a", "b"]}, `), 10_000)...), "0]"...)
	_ = must(0, json.Unmarshal(text, new(any)))
}
