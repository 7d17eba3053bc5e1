// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter/exportertest"
)

// needAgent returns the stock agent that SPANPROF_EBPF_AGENT names. Without one, or
// without root and tracefs, it skips the test and says so in the file that
// SPANPROF_SKIPPED names, unless SPANPROF_REQUIRE_EBPF is 1.
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
	reason := "live eBPF: no " + strings.Join(missing, ", no ")
	if os.Getenv("SPANPROF_REQUIRE_EBPF") == "1" {
		t.Fatal(reason)
	}
	if name := os.Getenv("SPANPROF_SKIPPED"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if _, err := fmt.Fprintln(f, reason); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip("SKIPPED: " + reason)
	return ""
}

// TestLive runs loads whose spans are known under an unmodified agent.
func TestLive(t *testing.T) {
	agent := needAgent(t)
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../internal/integration", "-trimpath", "-o", dir+"/", "./memlock", "./ebpftarget")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	messages := make(chan *collectorpb.ExportProfilesServiceRequest, 1000)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, listener, func(_ context.Context, _ string, m *collectorpb.ExportProfilesServiceRequest) error {
			messages <- m
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	startAgent(t, filepath.Join(dir, "memlock"), agent, "-collection-agent", listener.Addr().String(), "-disable-tls",
		"-t", "go,labels", "-samples-per-second", "397", "-reporter-interval", "1s", "-reporter-jitter", "0")

	// The agent learns of a program's Go runtime when it first sees the program.
	if err := exec.CommandContext(t.Context(), filepath.Join(dir, "ebpftarget"), "-load", "json", "-duration", "3s").Run(); err != nil {
		t.Fatal(err)
	}
	for _, load := range []string{"tight", "json", "cgo", "kernel", "shared"} {
		t.Run(load, func(t *testing.T) {
			for len(messages) > 0 {
				<-messages
			}
			out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "ebpftarget"), "-load", load, "-duration", liveDuration()).Output()
			if err != nil {
				t.Fatal(err)
			}
			truth, err := readTruth(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			var got []*collectorpb.ExportProfilesServiceRequest
			for rest := -1; rest != 0; rest-- {
				got = append(got, <-messages)
				if rest < 0 && len(messages) == 0 {
					rest = 3 // reports that are still to come, of the last samples
				}
			}
			sum, r, exported := truth.compare(t, got)
			t.Logf("%-7s %v; %+v", load, sum, r.Status())
			if load == "cgo" {
				checkNamesOfC(t, filepath.Join(dir, "ebpftarget"), exported)
			}
			if sum.wrong > 0 {
				t.Errorf("%d samples on the wrong span, want 0", sum.wrong)
			}
			if sum.labelled < 2000 {
				t.Errorf("%d labelled samples, want 2000", sum.labelled)
			}
			if name := os.Getenv("SPANPROF_EBPF_RECORD"); name != "" {
				recordTo(t, filepath.Join(name, load), truth, got)
			}
		})
	}
}

// checkNamesOfC finds functions of C in the spans. The target's file stands for this
// process's own.
func checkNamesOfC(t *testing.T, target string, exported *exportertest.Recorder) {
	t.Helper()
	var s symbols
	names := map[string]int{}
	for sample := range ofSpans(t, exported) {
		for _, l := range sample.Location {
			if len(l.Line) > 0 || l.Mapping == nil {
				continue
			}
			f := file{path.Base(l.Mapping.File), l.Mapping.BuildID}
			if s.files == nil && f.base == path.Base(target) {
				s.files = map[file]table{f: f.readFile(target)}
			}
			name, _ := s.name(l.Mapping, l.Address)
			names[name]++
		}
	}
	if names["collatz"]+names["spanprof_work_in_c"] == 0 {
		t.Errorf("frames without a Go function are %v, want those of ebpftarget's C code", names)
	}
	t.Logf("functions of C: %v", names)
}

// liveDuration is how long a load runs: as long as 2000 samples take at 397 a second,
// and half as long again, unless SPANPROF_EBPF_DURATION says otherwise.
func liveDuration() string {
	if d := os.Getenv("SPANPROF_EBPF_DURATION"); d != "" {
		return d
	}
	return "10s"
}

// startAgent runs the agent until the end of the test, and returns when it samples.
func startAgent(t *testing.T, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
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
		if waiting {
			close(ready)
		}
	}()
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = w.Close()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-done
		if t.Failed() {
			t.Logf("the agent's log:\n%s", log.String())
		}
	})
	<-ready
	select {
	case err := <-ended:
		<-done
		t.Fatalf("the agent has ended: %v\n%s", err, log.String())
	default:
	}
}
