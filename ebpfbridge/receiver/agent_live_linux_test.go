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
	"regexp"
	"slices"
	"strings"
	"testing"

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

// buildPrograms builds programs of internal/integration, in a directory that all users can read.
func buildPrograms(t *testing.T, names ...string) string {
	t.Helper()
	dir := publicDirectory(t)
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-C", "../../internal/integration", "-trimpath", "-o", dir + "/"}, names...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// startAgent runs the agent until the end of the test, and returns when it samples. The
// channel is closed when it has ended.
func startAgent(t *testing.T, command ...string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
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
