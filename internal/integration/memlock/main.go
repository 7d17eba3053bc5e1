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
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
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
	if err := install(); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return unix.Exec(path, command, os.Environ())
}

// install has the kernel answer 0 to prlimit64(pid, RLIMIT_MEMLOCK, new, old) with a new limit,
// without executing it: in this process, and in the program that it executes.
func install() error {
	const load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	const jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	const answer = unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{ // the offsets are of struct seccomp_data
		{Code: load, K: 0}, // the call
		{Code: jumpEqual, K: unix.SYS_PRLIMIT64, Jf: 5},
		{Code: load, K: 24}, // resource
		{Code: jumpEqual, K: unix.RLIMIT_MEMLOCK, Jf: 3},
		{Code: load, K: 32}, // new, its lower half
		{Code: jumpEqual, K: 0, Jt: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread() // for good: the program is executed on this thread
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const setModeFilter = 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, 0, uintptr(unsafe.Pointer(&filter))); errno != 0 {
		return errno
	}
	return nil
}
