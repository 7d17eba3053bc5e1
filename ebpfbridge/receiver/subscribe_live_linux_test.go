// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/loudskip"
)

// serveHost serves a host's socket until the end of the test.
func serveHost(t *testing.T) (h *Host, exported *exportertest.Recorder, path string) {
	t.Helper()
	exported = new(exportertest.Recorder)
	h, err := NewHost(exported)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "host.sock")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.ServeSocket(ctx, path) }()
	for {
		if _, err := os.Stat(path); err == nil {
			break
		}
		select {
		case err := <-done:
			stop()
			if err != nil && strings.Contains(err.Error(), "host's pid namespace") {
				loudskip.Test(t, err.Error())
			}
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h, exported, path
}

// runningApp is a program that subscribes.
type runningApp struct {
	*exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

// startApp runs a program, in the new namespaces of flags.
func startApp(t *testing.T, path, work string, flags uintptr) *runningApp {
	t.Helper()
	a := &runningApp{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	a.Env = append(os.Environ(), appVariable+"="+path, workVariable+"="+work, "GOMAXPROCS=1")
	a.Stderr = os.Stderr
	a.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	in, err1 := a.StdinPipe()
	out, err2 := a.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	a.in, a.out = in, out
	err := a.Start()
	if errors.Is(err, fs.ErrPermission) {
		loudskip.Test(t, "a process in pid and network namespaces of its own: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = a.Wait()
	})
	return a
}

// result has the program end when it has so many samples, and returns what it got.
func (a *runningApp) result(t *testing.T, samples int) appResult {
	t.Helper()
	if _, err := fmt.Fprintln(a.in, samples); err != nil {
		t.Fatal(err)
	}
	var r appResult
	if err := json.NewDecoder(a.out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

func awaitSubscribers(t *testing.T, h *Host, n int) {
	t.Helper()
	for h.Status().Subscribers != n {
		if t.Context().Err() != nil {
			t.Fatal("the test has ended")
		}
		time.Sleep(time.Millisecond)
	}
}

// asOf returns a message as if the agent had measured a running process just now.
func asOf(t *testing.T, m *collectorpb.ExportProfilesServiceRequest, pid int) (*collectorpb.ExportProfilesServiceRequest, int) {
	t.Helper()
	m = proto.CloneOf(m)
	samples, now := 0, uint64(time.Now().UnixNano())
	for _, r := range m.GetResourceProfiles() {
		for _, kv := range r.GetResource().GetAttributes() {
			if m.GetDictionary().GetStringTable()[kv.GetKeyStrindex()] == "process.pid" || kv.GetKey() == "process.pid" {
				kv.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(pid)}}
			}
		}
		for _, scope := range r.GetScopeProfiles() {
			for _, p := range scope.GetProfiles() {
				for _, s := range p.GetSamples() {
					samples += len(s.GetTimestampsUnixNano())
					for i := range s.TimestampsUnixNano {
						s.TimestampsUnixNano[i] = now
					}
				}
			}
		}
	}
	return m, samples
}

// TestSubscribe replays recordings to two programs, each as its own.
func TestSubscribe(t *testing.T) { testSubscribe(t, 0) }

// TestSubscribeInNamespaces has programs without the host's process ids and network, as in
// containers.
func TestSubscribeInNamespaces(t *testing.T) {
	testSubscribe(t, syscall.CLONE_NEWPID|syscall.CLONE_NEWNET)
}

func testSubscribe(t *testing.T, flags uintptr) {
	h, exported, path := serveHost(t)
	apps := []*runningApp{startApp(t, path, "", flags), startApp(t, path, "", flags)}
	awaitSubscribers(t, h, 2)
	sent := make([]int, len(apps))
	ambiguous := 0
	for i, load := range []string{"json", "kernel"} {
		_, messages := recorded(t, load)
		for _, m := range messages {
			m, samples := asOf(t, m, apps[i].Process.Pid)
			if err := h.take(t.Context(), "connection", m); err != nil {
				t.Fatal(err)
			}
			sent[i] += samples
		}
	}
	for i, a := range apps {
		r := a.result(t, sent[i])
		if r.Samples != int64(sent[i]) || r.Status.First+r.Status.Ambiguous != sent[i] || r.Kinds[exporter.KindHost] == 0 {
			t.Errorf("program %d got %+v, want its %d samples", i, r, sent[i])
		}
		if flags != 0 && r.PID != 1 {
			t.Errorf("program %d has the id %d, want 1 in a namespace of its own", i, r.PID)
		}
		ambiguous += r.Status.Ambiguous
		t.Logf("process %d, which knows itself as %d, got %d samples, %d sent", a.Process.Pid, r.PID, r.Samples, sent[i])
	}
	// A program may have its samples before the host has counted them.
	s := h.Status()
	for timeout := time.Now().Add(time.Minute); s.HandedOut < sent[0]+sent[1] && time.Now().Before(timeout); s = h.Status() {
		time.Sleep(time.Millisecond)
	}
	if s.HandedOut != sent[0]+sent[1] || s.Lost+s.Refused+s.RefusedSubscribers != 0 || s.Ambiguous != ambiguous {
		t.Errorf("%+v, want %d samples handed out", s, sent)
	}
	checkHost(t, exported, apps)
}

// checkHost checks that the host has the samples of both, by process.
func checkHost(t *testing.T, exported *exportertest.Recorder, apps []*runningApp) {
	t.Helper()
	of := map[string]int{}
	for _, p := range exported.Profiles() {
		parsed, err := p.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		service, _ := p.Resource().Set().Value("service.name")
		if service.AsString() == "" || p.Kind() != exporter.KindHost {
			t.Errorf("service %q, kind %s", service.AsString(), p.Kind())
		}
		for _, s := range parsed.Sample {
			of[s.Label[LabelProcess][0]]++
		}
	}
	pids := []string{strconv.Itoa(apps[0].Process.Pid), strconv.Itoa(apps[1].Process.Pid)}
	for pid, n := range of {
		if !slices.Contains(pids, pid) || n == 0 {
			t.Errorf("%d samples of process %s", n, pid)
		}
	}
	if len(of) != 2 {
		t.Errorf("samples of %v, want those of %v", of, pids)
	}
}

// TestLiveSubscribe has an unmodified agent, and programs in namespaces of their own.
func TestLiveSubscribe(t *testing.T) {
	agent := needAgent(t)
	h, exported, path := serveHost(t)
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../internal/integration", "-trimpath", "-o", dir+"/", "./memlock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	startAgent(t, filepath.Join(dir, "memlock"), agent, "-collection-agent", serveTCP(t, h.ServeGRPC), "-disable-tls",
		"-t", "go,labels", "-samples-per-second", "397", "-reporter-interval", "1s", "-reporter-jitter", "0")
	const namespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	apps := []*runningApp{startApp(t, path, "hash", namespaces), startApp(t, path, "sum", namespaces)}
	awaitSubscribers(t, h, 2)
	for i, a := range apps {
		r := a.result(t, 2000)
		t.Logf("process %d, which knows itself as %d: %d samples, %d of its own work, %d of the other's, %d with a span: %+v",
			a.Process.Pid, r.PID, r.Samples, r.Mine, r.Others, r.WithSpans, r.Status)
		if r.Others != 0 || r.Mine < r.Samples/2 || r.WithSpans == 0 || r.PID != 1 {
			t.Errorf("program %d got %+v, want samples of its own work alone", i, r)
		}
	}
	services := map[string]int{}
	for _, p := range exported.Profiles() {
		v, _ := p.Resource().Set().Value("service.name")
		services[v.AsString()]++
	}
	t.Logf("%d services on the host; %+v", len(services), h.Status())
}
