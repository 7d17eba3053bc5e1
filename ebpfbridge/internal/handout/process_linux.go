// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is one process for as long as it lives, not the next one with its id.
type process struct {
	pid   int64
	start uint64 // clock ticks after boot
	user  uint32 // effective
	group string // the control group: of a container, as a rule
	pidfd *os.File
}

// peerOf returns the process that connected. The caller must close it.
func peerOf(conn *net.UnixConn) (*process, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	pidfd := -1
	controlErr := raw.Control(func(fd uintptr) {
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil {
			return
		}
		if n, pidfdErr := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); pidfdErr == nil {
			pidfd = n
		}
	})
	if err := errors.Join(controlErr, err); err != nil {
		return nil, fmt.Errorf("SO_PEERCRED: %w", err)
	}
	if cred.Pid == 0 {
		return nil, errors.New("the process is not visible here: run hostview in the host's pid namespace")
	}
	p := &process{pid: int64(cred.Pid), user: cred.Uid}
	if pidfd < 0 { // before Linux 6.5
		if pidfd, err = unix.PidfdOpen(int(cred.Pid), 0); err != nil {
			return nil, fmt.Errorf("process %d: %w", cred.Pid, err)
		}
	}
	p.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	if p.start, err = startTicks(p.pid); err == nil {
		err = p.check()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	group, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.pid))
	p.group = string(group)
	return p, nil
}

// check returns an error if the process has ended, or has become that of another user
// since, as a set-user-id program makes it.
func (p *process) check() error {
	if err := unix.PidfdSendSignal(int(p.pidfd.Fd()), 0, nil, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("process %d has ended: %w", p.pid, err)
	}
	start, err := startTicks(p.pid)
	if err != nil {
		return err
	}
	if start != p.start {
		return fmt.Errorf("process %d has ended, another one has its id", p.pid)
	}
	user, err := effectiveUser(p.pid)
	if err != nil {
		return err
	}
	if user != p.user {
		return fmt.Errorf("process %d has become that of user %d, it was that of %d", p.pid, user, p.user)
	}
	return nil
}

func (p *process) close() { _ = p.pidfd.Close() }

// ticksPerSecond is USER_HZ, which is 100 on all that Go runs on.
const ticksPerSecond = 100

// started returns when the process started, in nanoseconds since 1970, by the clock of
// now: not too late, and at most 10 ms too early unless this loses its CPU meanwhile.
func (p *process) started() (uint64, error) {
	now := time.Now()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return 0, fmt.Errorf("clock_gettime: %w", err)
	}
	after := time.Duration(p.start) * (time.Second / ticksPerSecond)
	return uint64(now.Add(after - time.Duration(boot.Nano())).UnixNano()), nil
}

// startTicks returns field 22 of /proc/PID/stat. The name of the program, which may have
// any characters, ends at the last parenthesis.
func startTicks(pid int64) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	_, rest := cutLast(string(b), ')')
	fields := strings.Fields(rest) // from field 3
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields after the name, want 20 or more", pid, len(fields))
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

func cutLast(s string, sep byte) (before, after string) {
	i := strings.LastIndexByte(s, sep)
	return s[:max(i, 0)], s[i+1:]
}

func effectiveUser(pid int64) (uint32, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(b)) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			if fields := strings.Fields(ids); len(fields) > 1 {
				user, err := strconv.ParseUint(fields[1], 10, 32)
				return uint32(user), err
			}
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no user id", pid)
}

// hostNamespace is the inode of the first pid namespace, which Linux fixes
// (PROC_PID_INIT_INO).
const hostNamespace = "pid:[4026531836]"

// checkNamespace returns an error if this process sees other ids than the agent, which
// has those of the host: the wrong processes would get samples.
func checkNamespace() error {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	if ns != hostNamespace {
		return errors.New("this process is not in the host's pid namespace, whose process ids agents use: run it with --pid=host, or hostPID: true in Kubernetes")
	}
	return nil
}
