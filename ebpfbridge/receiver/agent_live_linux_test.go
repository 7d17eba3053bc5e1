// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// needAgent returns the stock agent that SPANPROF_EBPF_AGENT names. Without one, or
// without root and tracefs, it skips the test loudly, unless
// SPANPROF_REQUIRE_EBPF is 1.
func needAgent(t *testing.T) string {
	t.Helper()
	agent := os.Getenv("SPANPROF_EBPF_AGENT")
	_, errTracefs := os.Stat("/sys/kernel/tracing/events/sched/sched_process_free")
	var missing []string
	if agent == "" {
		missing = append(missing, "an agent in SPANPROF_EBPF_AGENT")
	}
	if os.Getuid() != 0 {
		missing = append(missing, "root")
	}
	if errTracefs != nil {
		missing = append(missing, "tracefs on /sys/kernel/tracing")
	}
	if missing == nil {
		return agent
	}
	reason := "live eBPF: missing: " + strings.Join(missing, ", ")
	if os.Getenv("SPANPROF_REQUIRE_EBPF") == "1" {
		t.Fatal(reason)
	}
	loudskip.Test(t, reason)
	return ""
}

// buildTarget builds internal/integration/ebpftarget, in a directory that all users can read.
func buildTarget(t *testing.T) string {
	t.Helper()
	target := filepath.Join(publicDirectory(t), "ebpftarget")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../internal/integration", "-trimpath", "-o", target, "./ebpftarget")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return target
}

// startAgent runs the agent until the end of the test, and returns when it samples. The
// channel is closed when it has ended.
func startAgent(t *testing.T, command ...string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := startUnlocked(cmd); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var log strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		waiting := true
		for lines := bufio.NewScanner(r); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if waiting && strings.Contains(lines.Text(), "Attached sched monitor") {
				waiting = false
				close(ready)
			}
		}
	}()
	go func() {
		_ = cmd.Wait()
		_ = w.Close()
		<-done
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		if t.Failed() {
			t.Logf("the agent's log:\n%s", log.String())
		}
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("the agent has ended: %v", cmd.ProcessState)
	}
	return ended
}

// startUnlocked starts a command that insists on locking unlimited memory, also on a machine
// that does not grant it. OpenTelemetry's eBPF profiler raises RLIMIT_MEMLOCK, and ends if that
// fails. Linux has not needed the limit for eBPF since 5.11. A process inherits the filter of
// the thread that starts it.
func startUnlocked(cmd *exec.Cmd) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := answerMemlock()
		if err == nil {
			err = cmd.Start()
		}
		result <- err
	}()
	return <-result
}

// answerMemlock has the kernel answer 0 to prlimit64(pid, RLIMIT_MEMLOCK, new, old) with a new
// limit, without executing it: on this thread.
func answerMemlock() error {
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
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const setModeFilter = 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, 0, uintptr(unsafe.Pointer(&filter))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

// agentCapabilities returns the agent's capabilities in the files of deploy, which must
// agree: "bpf", "perfmon" and so on.
func agentCapabilities(t *testing.T) []string {
	t.Helper()
	var all []string
	for name, pattern := range map[string]string{
		"ebpf-profiler.service": `CapabilityBoundingSet=(.*)`,
		"compose.yaml":          `cap_add: \[(.*BPF.*)\]`,
		"daemonset.yaml":        `add: \[(.*BPF.*)\]`,
	} {
		text, err := os.ReadFile("../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s: no capabilities", name)
		}
		words := strings.FieldsFunc(strings.ToLower(string(found[1])), func(r rune) bool { return r == ' ' || r == ',' })
		for i, w := range words {
			words[i] = strings.TrimPrefix(w, "cap_")
		}
		slices.Sort(words)
		if all != nil && !slices.Equal(words, all) {
			t.Fatalf("%s: got %q, want %q as in the others", name, words, all)
		}
		all = words
	}
	return all
}
