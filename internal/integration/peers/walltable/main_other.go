// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "walltable runs on Linux alone: it stops processes and sets CPU quotas")
	os.Exit(1)
}
