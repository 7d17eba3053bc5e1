// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Memlock runs a program that insists on locking unlimited memory on a machine that does
// not grant it:
//
//	memlock ebpf-profiler -collection-agent 127.0.0.1:11000 ...
//
// OpenTelemetry's eBPF profiler raises RLIMIT_MEMLOCK, and ends if that fails. Linux has
// not needed the limit for eBPF since 5.11. Here the call succeeds without effect.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof/internal/seccomptest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "memlock:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("usage: memlock program [argument...]")
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	// prlimit64(pid, resource, new, old) with a new limit.
	err = seccomptest.Install(seccomptest.Rule{
		Call: unix.SYS_PRLIMIT64, Equal: map[int]uint32{1: unix.RLIMIT_MEMLOCK}, NonZero: []int{2},
	})
	if err != nil {
		return err
	}
	return unix.Exec(path, command, os.Environ())
}
