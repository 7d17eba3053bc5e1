// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// another is a user without rights.
const another = 65534

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

// asAnother runs f on a thread of another user.
func asAnother(t *testing.T, f func()) {
	t.Helper()
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, another, another, another)
		if errno == 0 {
			f()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Fatal(errno)
	}
}

// An agent with the capabilities of the deploy files finds the spans of another user's
// program. That user cannot send, and does not keep the agent out.
func TestLiveDeploy(t *testing.T) {
	path := filepath.Join(publicDirectory(t), "otlp.sock")
	set := "-all,+" + strings.Join(agentCapabilities(t), ",+")
	l := startLive(t, path, "setpriv", "--inh-caps=-all", "--bounding-set="+set)
	if err := os.Chmod(path, 0o666); err != nil { // as for a receiver that is not root
		t.Fatal(err)
	}
	l.user = &syscall.Credential{Uid: another, Gid: another}
	truth, got := l.run(t, 2*time.Second, "-load", "json")
	sum, r, _ := truth.compare(t, got)
	t.Logf("capabilities %s: %v; %+v", set, sum, r.Status())
	if sum.wrong > 0 || sum.right == 0 {
		t.Errorf("got %v, want samples on their spans and none on others", sum)
	}

	const held = 100
	asAnother(t, func() {
		for range held {
			conn, err := net.Dial("unix", path)
			if err != nil {
				t.Errorf("got %v, want a connection that is refused", err)
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
				t.Errorf("got %d bytes and %v, want EOF", n, err)
			}
		}
	})
	for range len(l.messages) + 3 {
		l.next(t)
	}
	if n := l.receiver.Status().RefusedAgents; n != held {
		t.Errorf("got %d refused connections, want %d", n, held)
	}
}
