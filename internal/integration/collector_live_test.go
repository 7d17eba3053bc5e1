// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/profiler"
)

// A real Collector takes the profiles of examples/collector by HTTP, and
// the profiles of a program that speaks gRPC. Its file has Links to their spans and their
// service's name.
func TestCollector(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute to build the Collector")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the Collector is ended by an interrupt")
	}
	ctx := livetest.Context(t, withCollector)
	c := startCollector(ctx, t, "../../examples/collector/collector.yaml")
	t.Run("example", func(t *testing.T) {
		binary := build(ctx, t, "../../examples", "./collector")
		program := exec.CommandContext(ctx, binary, "-collector", "http://"+c.http, "-duration", "6s")
		program.Stderr = os.Stderr
		out, err := program.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^profiles: otlp: [1-9]\d* exported\n$`).Match(out) {
			t.Errorf("the example says %q", out)
		}
	})
	var ofGRPC string
	t.Run("gRPC", func(t *testing.T) { ofGRPC = exportByGRPC(t, c.grpc) })
	records := c.stop(t)

	spans := map[string]bool{ofGRPC: true} // of both programs
	for _, r := range records {
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					spans[s.TraceID+" "+s.SpanID] = true
				}
			}
		}
	}
	linked := map[string]int{} // samples with a Link to one, by service
	for _, r := range records {
		for service, s := range r.samples {
			if link := r.Dictionary.LinkTable[s.LinkIndex]; s.LinkIndex != 0 && spans[link.TraceID+" "+link.SpanID] {
				linked[service]++
			}
		}
	}
	for _, service := range []string{"collector-example", "grpc-example"} {
		if linked[service] == 0 {
			t.Errorf("no sample of %s has a Link to its span, but %v", service, linked)
		}
	}
}

// collectorProcess is a running Collector.
type collectorProcess struct {
	http, grpc string // its addresses
	file       string // that it writes
	cmd        *exec.Cmd
	logged     chan struct{} // closed when it has closed its log
}

// withCollector is the bound of a test that builds a Collector, because an empty build cache
// takes minutes.
const withCollector = 5 * time.Minute

// startCollector builds the Collector and runs it with a configuration, until ctx ends.
func startCollector(ctx context.Context, t *testing.T, configuration string) *collectorProcess {
	t.Helper()
	c := &collectorProcess{file: filepath.Join(t.TempDir(), "collector.json"), logged: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, build(ctx, t, "collector", "."),
		"--config", configuration, "--feature-gates=service.profilesSupport")
	c.cmd.Env = append(os.Environ(), "COLLECTOR_FILE="+c.file,
		"COLLECTOR_HTTP=127.0.0.1:0", "COLLECTOR_GRPC=127.0.0.1:0", "COLLECTOR_PPROF=127.0.0.1:0")
	log, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	started := regexp.MustCompile(`Starting (GRPC|HTTP) server.*"endpoint": "([^"]*)"`)
	ready := make(chan bool, 1)
	var lines bytes.Buffer
	go func() {
		defer close(c.logged)
		for s := bufio.NewScanner(log); s.Scan(); {
			lines.WriteString(s.Text() + "\n")
			m := started.FindStringSubmatch(s.Text())
			switch {
			case len(m) > 0 && m[1] == "HTTP":
				c.http = m[2]
			case len(m) > 0:
				c.grpc = m[2]
			case strings.Contains(s.Text(), "Everything is ready"):
				ready <- true
			}
		}
	}()
	select {
	case <-ready:
	case <-c.logged:
	}
	if c.http == "" || c.grpc == "" {
		<-c.logged
		t.Fatalf("the Collector does not start:\n%s", &lines)
	}
	return c
}

// build compiles a program of another module and returns its file. The
// workspace would change the versions of the Collector's parts. The test is skipped where
// the module registry does not serve them.
func build(ctx context.Context, t *testing.T, dir, pkg string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		if refused := regexp.MustCompile(`.*: (reading|dial tcp) .*`).FindString(string(out)); refused != "" {
			loudskip.Test(t, refused)
		}
		t.Fatalf("build %s in %s: %v, %v\n%s", pkg, dir, err, ctx.Err(), out)
	}
	return binary
}

// stop ends the Collector and returns the lines that it has written.
func (c *collectorProcess) stop(t *testing.T) []record {
	t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-c.logged
	if err := c.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	var records []record
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var r record
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// exportByGRPC works in a span under a profiler that exports by OTLP/gRPC, and
// returns the span's ids.
func exportByGRPC(t *testing.T, target string) string {
	t.Helper()
	exp, err := otlpgrpc.New(otlp.WithEndpointURL("http://" + target))
	if err != nil {
		t.Fatal(err)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "grpc-example"))
	p, err := profiler.New(exp, profiler.WithResource(res))
	if err != nil {
		t.Fatal(err)
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	_, span := tp.Tracer("test").Start(t.Context(), "work")
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		_ = json.Valid([]byte(`{"a": [1, 2, 3]}`))
	}
	span.End()
	if err := errors.Join(p.Shutdown(context.Background()), tp.Shutdown(context.Background())); err != nil {
		t.Error(err)
	}
	if s := exp.Status(); s.Exported == 0 || len(s.Lost) > 0 {
		t.Errorf("%+v, want all exported", s)
	}
	return span.SpanContext().TraceID().String() + " " + span.SpanContext().SpanID().String()
}

// record is a line of the Collector's file.
type record struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []ids
		}
	}
	ResourceProfiles []struct {
		Resource struct {
			Attributes []fileAttribute
		}
		ScopeProfiles []struct {
			Profiles []struct {
				Samples []fileSample
			}
		}
	}
	Dictionary dictionary
}

type ids struct {
	TraceID, SpanID string
}

type fileSample struct {
	LinkIndex          int
	TimestampsUnixNano []string
}

// fileAttribute is one as the Collector writes it: our inline texts have moved
// to the string table.
type fileAttribute struct {
	KeyStrindex int
	Value       struct{ StringValueStrindex int }
}

type dictionary struct {
	StringTable []string
	LinkTable   []ids
}

// samples yields the samples of profiles, each with the name of its service.
func (r record) samples(yield func(service string, s fileSample) bool) {
	for _, rp := range r.ResourceProfiles {
		service := ""
		for _, a := range rp.Resource.Attributes {
			if r.Dictionary.StringTable[a.KeyStrindex] == "service.name" {
				service = r.Dictionary.StringTable[a.Value.StringValueStrindex]
			}
		}
		for _, scope := range rp.ScopeProfiles {
			for _, p := range scope.Profiles {
				for _, s := range p.Samples {
					if !yield(service, s) {
						return
					}
				}
			}
		}
	}
}
