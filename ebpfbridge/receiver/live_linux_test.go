// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
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

// live is a running agent, and a target for it.
type live struct {
	target   string
	messages chan *collectorpb.ExportProfilesServiceRequest // of the agent
}

// startLive runs an unmodified agent until the end of the test.
func startLive(t *testing.T) live {
	t.Helper()
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
	l := live{target: filepath.Join(dir, "ebpftarget"), messages: make(chan *collectorpb.ExportProfilesServiceRequest, 1000)}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, listener, func(_ context.Context, _ string, m *collectorpb.ExportProfilesServiceRequest) error {
			l.messages <- m
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
	l.run(t, "-load", "json", "-cpu", "3s")
	return l
}

// run runs the target, and returns what it ran and what the agent sent.
func (l live) run(t *testing.T, args ...string) (truth, []*collectorpb.ExportProfilesServiceRequest) {
	t.Helper()
	for len(l.messages) > 0 {
		<-l.messages
	}
	out, err := exec.CommandContext(t.Context(), l.target, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	truth, err := readTruth(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	var got []*collectorpb.ExportProfilesServiceRequest
	for len(l.messages) > 0 {
		got = append(got, <-l.messages)
	}
	for range 3 { // reports that are still to come, of the last samples
		got = append(got, <-l.messages)
	}
	return truth, got
}

// TestLive runs loads whose spans are known under an unmodified agent.
func TestLive(t *testing.T) {
	l := startLive(t)
	for _, load := range loads {
		t.Run(load, func(t *testing.T) {
			truth, got := l.run(t, "-load", load, "-cpu", liveCPU())
			sum, r, exported := truth.compare(t, got)
			t.Logf("%-7s %v; %+v", load, sum, r.Status())
			if load == "cgo" {
				checkNamesOfC(t, l.target, exported)
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

// TestLiveAgrees compares the CPU time of spans by the agent and by Go's own profiler.
func TestLiveAgrees(t *testing.T) {
	l := startLive(t)
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	// Go takes 100 samples a second; half of them are of each of two names.
	truth, got := l.run(t, "-load", "json", "-cpu", "24s", "-cpuprofile", file)
	sum, r, exported := truth.compare(t, got, WithTimelines(timelines{truth}))
	t.Logf("%v; %+v", sum, r.Status())
	host := map[string]seconds{}
	for s := range ofSpans(t, exported) {
		host[s.Label[labelkey.SpanName][0]] = host[s.Label[labelkey.SpanName][0]].plus(s)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	inProcess := map[string]seconds{}
	for _, s := range parsed.Sample {
		if name := s.Label[labelkey.SpanName]; len(name) > 0 {
			inProcess[name[0]] = inProcess[name[0]].plus(s)
		}
	}
	for name, p := range inProcess {
		h := host[name]
		sigma := math.Hypot(h.sigma(), p.sigma())
		t.Logf("%-60s host %.3f s (%d samples), in process %.3f s (%d samples): %+.2f sigma", name, h.cpu, h.n, p.cpu, p.n, (h.cpu-p.cpu)/sigma)
		if h.n < 1000 || p.n < 1000 || math.Abs(h.cpu-p.cpu) > 3*sigma {
			t.Errorf("%s: want 1000 samples a side, and agreement within 3 sigma", name)
		}
	}
	if len(inProcess) != 2 {
		t.Errorf("%d names in the CPU profile, want 2", len(inProcess))
	}
}

// seconds is CPU time by samples.
type seconds struct {
	n   int64
	cpu float64
}

func (s seconds) plus(sample *profile.Sample) seconds {
	return seconds{s.n + sample.Value[0], s.cpu + float64(sample.Value[1])/1e9}
}

// sigma is the standard deviation of cpu if samples were taken at random.
func (s seconds) sigma() float64 { return s.cpu / math.Sqrt(float64(max(s.n, 1))) }

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

// liveCPU is the CPU time of a load: 3970 samples at 397 a second, of which the least
// has two thirds in spans. SPANPROF_EBPF_CPU is for short recordings.
func liveCPU() string {
	if d := os.Getenv("SPANPROF_EBPF_CPU"); d != "" {
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
