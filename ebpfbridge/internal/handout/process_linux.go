// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"bytes"
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
	pid    int64
	start  uint64 // clock ticks after boot
	user   uint32 // effective
	group  string // the control group: of a container, as a rule
	nested bool   // in a pid namespace of its own
	pidfd  *os.File
}

// peerOf returns the process that connected. The caller must close it.
func peerOf(conn net.Conn) (*process, error) {
	pidfd := -1
	cred, err := credentials(conn, func(fd int) {
		if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			pidfd = n
		}
	})
	if err != nil {
		return nil, err
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
	ids, _ := statusOf(strconv.FormatInt(p.pid, 10), "NSpid:")
	p.group, p.nested = string(group), len(ids) > 1
	return p, nil
}

// check returns an error if the process has ended. It also does if the process has another
// user now, as after execution of a set-user-id program.
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
	ids, err := statusOf(strconv.FormatInt(p.pid, 10), "Uid:")
	if err != nil {
		return err
	}
	if user := strconv.FormatUint(uint64(p.user), 10); len(ids) < 2 || ids[1] != user {
		return fmt.Errorf("process %d had user %s, and has users %q now", p.pid, user, ids)
	}
	return nil
}

// thread returns the process's own id of a thread, 0 for an ended one.
func (p *process) thread(id int64) int64 {
	if !p.nested {
		return id
	}
	ids, err := statusOf(fmt.Sprintf("%d/task/%d", p.pid, id), "NSpid:")
	if err != nil {
		return 0
	}
	own, _ := strconv.ParseInt(ids[len(ids)-1], 10, 64)
	return own
}

func (p *process) close() { _ = p.pidfd.Close() }

// ticksPerSecond is USER_HZ, which is 100 on all that Go runs on.
const ticksPerSecond = 100

// started returns the start time of the process, in nanoseconds since 1970 by the clock of
// now. It is never too late. It is at most 10 ms too early, unless this function loses its CPU.
func (p *process) started() (uint64, error) {
	now := time.Now()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return 0, fmt.Errorf("clock_gettime: %w", err)
	}
	after := time.Duration(p.start) * (time.Second / ticksPerSecond)
	return uint64(now.Add(after - time.Duration(boot.Nano())).UnixNano()), nil
}

// startTicks returns field 22 of /proc/PID/stat. The program's name may have any characters
// and ends at the last parenthesis.
func startTicks(pid int64) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from field 3
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields after the name, want 20 or more", pid, len(fields))
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// statusOf returns the words after a key in /proc/ID/status, at least one.
func statusOf(id, key string) ([]string, error) {
	b, err := os.ReadFile("/proc/" + id + "/status")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key); ok && strings.TrimSpace(rest) != "" {
			return strings.Fields(rest), nil
		}
	}
	return nil, fmt.Errorf("/proc/%s/status has no %s", id, key)
}

// hostNamespace is the inode of the first pid namespace, a constant of Linux
// (PROC_PID_INIT_INO).
const hostNamespace = "pid:[4026531836]"

// CheckNamespace returns an error unless this process has the process ids of the host, which
// agents send. Otherwise the wrong processes would get samples.
func CheckNamespace() error {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	if ns != hostNamespace {
		return errors.New("this process is not in the host's pid namespace, and agents send the host's process ids: run it with --pid=host, or hostPID: true in Kubernetes")
	}
	return nil
}
