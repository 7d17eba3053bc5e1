// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/internal/attribution"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/livetest"
)

// live is a running agent, and a target for it.
type live struct {
	target   string
	messages chan *collectorpb.ExportProfilesServiceRequest // of the agent
	ended    <-chan struct{}                                // closed when the agent has ended
}

// another is a user without rights: the target's.
const another = 65534

// warmUp is the name of a target's spans before its load.
const warmUp = "warm-up"

// publicDirectory returns a directory that all users can read.
func publicDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startLive runs an unmodified agent until the end of the test, with the capabilities of the
// deploy files.
func startLive(t *testing.T) live {
	t.Helper()
	agent, path := needAgent(t), filepath.Join(privateDirectory(t), "s")
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := newReceiver(t)
	l := live{
		target:   buildTarget(t),
		messages: make(chan *collectorpb.ExportProfilesServiceRequest, 1000),
	}
	serving(t, func(ctx context.Context) error {
		return r.serveAgents(ctx, listener, func(_ context.Context, _ string, m *collectorpb.ExportProfilesServiceRequest) error {
			select {
			case l.messages <- m:
			case <-ctx.Done():
			}
			return nil
		})
	})
	l.ended = startAgent(t, "setpriv", "--inh-caps=-all", "--bounding-set=-all,+"+strings.Join(agentCapabilities(t), ",+"), agent,
		"-collection-agent", "unix://"+path, "-disable-tls", "-t", "go,labels", "-samples-per-second", "397", "-reporter-interval", "1s", "-reporter-jitter", "0")
	return l
}

// next returns the agent's next message.
func (l live) next(t *testing.T) *collectorpb.ExportProfilesServiceRequest {
	t.Helper()
	select {
	case m := <-l.messages:
		return m
	case <-l.ended:
		t.Fatal("the agent has ended")
		return nil
	case <-time.After(livetest.Most):
		t.Fatalf("got no message of the agent within %v", livetest.Most)
		return nil
	}
}

// run has the target take so much CPU time. It returns what the target ran and what the
// agent sent meanwhile.
func (l live) run(t *testing.T, cpu time.Duration, args ...string) (truth, []*collectorpb.ExportProfilesServiceRequest) {
	t.Helper()
	for len(l.messages) > 0 {
		<-l.messages
	}
	target := exec.CommandContext(t.Context(), l.target, append(args, "-cpu", cpu.String())...)
	var out bytes.Buffer
	target.Stdout, target.Stderr = &out, os.Stderr
	target.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: another, Gid: another}}
	in, err := target.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	// Until the agent has read a process's files, it drops the samples of it.
	started := time.Now()
	var got []*collectorpb.ExportProfilesServiceRequest
	for len(got) == 0 || !hasWarmUp(got[len(got)-1]) {
		if time.Since(started) > time.Minute {
			t.Fatal("got no samples with labels of the target within a minute")
		}
		got = append(got, l.next(t))
	}
	t.Logf("the target's first samples have come %.1f s after its start", time.Since(started).Seconds())
	_ = in.Close()
	done := make(chan error, 1)
	go func() { done <- target.Wait() }()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		case m := <-l.messages:
			got = append(got, m)
		}
	}
	for range len(l.messages) + 3 { // reports that are still to come, of the last samples
		got = append(got, l.next(t))
	}
	truth, err := readTruth(&out)
	if err != nil {
		t.Fatal(err)
	}
	return truth, got
}

// hasWarmUp reports whether a message has a sample of a target's warm-up.
func hasWarmUp(m *collectorpb.ExportProfilesServiceRequest) bool {
	d := m.GetDictionary()
	return slices.ContainsFunc(d.GetAttributeTable(), func(a *profilespb.KeyValueAndUnit) bool {
		texts := d.GetStringTable()
		value := a.GetValue().GetStringValue()
		if i := a.GetValue().GetStringValueStrindex(); i > 0 {
			value = texts[i]
		}
		return texts[a.GetKeyStrindex()] == attribution.LabelPrefix+labelkey.SpanName && value == warmUp
	})
}

// TestLive runs loads with known spans of another user under an unmodified agent.
func TestLive(t *testing.T) {
	l := startLive(t)
	for _, load := range loads {
		t.Run(load, func(t *testing.T) {
			livetest.Doubling(t, liveCPU(load), func(cpu time.Duration) string { return l.check(t, load, cpu) })
		})
	}
}

// check runs a load. It returns what is missing for a result.
func (l live) check(t *testing.T, load string, cpu time.Duration) (missing string) {
	t.Helper()
	truth, got := l.run(t, cpu, "-load", load)
	sum, r, exported := truth.compare(t, got)
	t.Logf("%-7s %v; %+v", load, sum, r.Status())
	if sum.wrong > 0 {
		t.Errorf("%d samples on the wrong span, want 0", sum.wrong)
	}
	switch load {
	case "kernel":
		checkFramesOfKernel(t, exported)
	case "json":
		checkClocks(t, truth, got)
	}
	if load == "cgo" && !framesOfC(t, l.target, exported) {
		return "no span has a frame of ebpftarget's C code"
	}
	if sum.labelled < 2000 {
		return fmt.Sprintf("got %d samples with labels, want 2000", sum.labelled)
	}
	return ""
}

// checkClocks compares the CPU time of spans by name: by the agent's samples, and by the clocks
// of threads. On a busy machine agents lose samples, of both names.
func checkClocks(t *testing.T, truth truth, got []*collectorpb.ExportProfilesServiceRequest) {
	t.Helper()
	_, _, exported := truth.compare(t, got, WithTimelines(truth))
	host, clock := map[string]float64{}, map[string]float64{}
	var all, allByClock, samples float64
	for s := range ofSpans(t, exported) {
		if name := s.Label[labelkey.SpanName][0]; name != warmUp {
			host[name] += float64(s.Value[1]) / 1e9
			all += float64(s.Value[1]) / 1e9
			samples += float64(s.Value[0])
		}
	}
	for _, s := range truth {
		if s.Span != "" && s.Name != warmUp {
			clock[s.Name] += s.CPU.Seconds()
			allByClock += s.CPU.Seconds()
		}
	}
	for name, want := range clock {
		share, ofClock := host[name]/all, want/allByClock
		sigma := math.Sqrt(share * (1 - share) / samples)
		t.Logf("%-60s host %.3f s, the clocks of threads %.3f s; shares %.1f %% and %.1f %%: %+.2f sigma", name, host[name], want, 100*share, 100*ofClock, (share-ofClock)/sigma)
		if math.Abs(share-ofClock) > 4*sigma || host[name] > want*(1+5/math.Sqrt(samples/2)) {
			t.Errorf("%s: the agent's samples disagree with the clocks of threads", name)
		}
	}
}

// framesOfC reports whether spans have frames of the target's C code. The target has ended, so
// they are addresses in its file.
func framesOfC(t *testing.T, target string, exported *exportertest.Recorder) bool {
	t.Helper()
	n := 0
	for sample := range ofSpans(t, exported) {
		if slices.ContainsFunc(sample.Location, func(l *profile.Location) bool {
			return len(l.Line) == 0 && l.Mapping != nil && path.Base(l.Mapping.File) == path.Base(target)
		}) {
			n += int(sample.Value[0])
		}
	}
	t.Logf("%d samples of spans have frames of C", n)
	return n > 0
}

// liveCPU is the CPU time of a load: 2382 samples at 397 a second, 50 % more where a
// third is of no span.
func liveCPU(load string) time.Duration {
	if load == "shared" {
		return 9 * time.Second
	}
	return 6 * time.Second
}
