// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package seccomptest

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rule answers a system call without executing it.
type Rule struct {
	// Call is the call's number, and Equal and NonZero what some of its arguments
	// must be, by their places.
	Call    uint32
	Equal   map[int]uint32
	NonZero []int
	// Errno is the answer; 0 is success.
	Errno unix.Errno
}

// The layout of struct seccomp_data, on little-endian machines.
const (
	callOffset = 0
	argsOffset = 16
)

// Install applies the rules to this process and to all programs that it executes.
// They cannot be lifted: install them in a process of their own.
func Install(rules ...Rule) error {
	const load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	const jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	const answer = unix.BPF_RET | unix.BPF_K

	var program []unix.SockFilter
	for _, r := range rules {
		// Backwards, because each step must know how far away the next rule is.
		steps := []unix.SockFilter{{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(r.Errno)}}
		before := func(s ...unix.SockFilter) { steps = append(s, steps...) }
		next := func() uint8 { return uint8(len(steps)) }
		for _, arg := range r.NonZero {
			low := uint32(argsOffset + 8*arg)
			before(
				unix.SockFilter{Code: load, K: low},
				unix.SockFilter{Code: jumpEqual, K: 0, Jf: 2},
				unix.SockFilter{Code: load, K: low + 4},
				unix.SockFilter{Code: jumpEqual, K: 0, Jt: next()},
			)
		}
		for arg, value := range r.Equal {
			before(
				unix.SockFilter{Code: load, K: uint32(argsOffset + 8*arg)},
				unix.SockFilter{Code: jumpEqual, K: value, Jf: next()},
			)
		}
		before(
			unix.SockFilter{Code: load, K: callOffset},
			unix.SockFilter{Code: jumpEqual, K: r.Call, Jf: next()},
		)
		program = append(program, steps...)
	}
	program = append(program, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_NO_NEW_PRIVS): %w", err)
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const setModeFilter = 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
