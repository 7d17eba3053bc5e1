// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// program is a running example.
type program struct {
	t    *testing.T
	ctx  context.Context // ends when a test on samples must end
	cmd  *exec.Cmd
	page string // the address after "Open"

	mu     sync.Mutex
	output strings.Builder
	done   chan struct{} // closed when all output is read
}

// build compiles an example and returns its file.
func build(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v, %v\n%s", name, err, ctx.Err(), out)
	}
	return binary
}

// start builds and runs an example until it prints the address of its page.
func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	ctx := livetest.Context(t, livetest.Most)
	binary := build(ctx, t, name)
	p := &program{t: t, ctx: ctx, cmd: exec.CommandContext(ctx, binary, append([]string{"-listen", "127.0.0.1:0"}, args...)...), done: make(chan struct{})}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = 10 * time.Second
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opened := make(chan string, 1)
	go p.read(stdout, opened)
	select {
	case p.page = <-opened:
	case <-p.done:
		t.Fatalf("%s ended without saying where its page is:\n%s", name, p.text())
	}
	return p
}

func (p *program) read(r io.Reader, opened chan<- string) {
	defer close(p.done)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.output, lines.Text())
		p.mu.Unlock()
		if page, ok := strings.CutPrefix(lines.Text(), "Open "); ok {
			opened <- page
		}
	}
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// wait returns all output after the program has exited with status 0.
func (p *program) wait() string {
	p.t.Helper()
	<-p.done
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("exit: %v\n%s", err, p.text())
	}
	return p.text()
}

// stop interrupts the program as Ctrl-C does.
func (p *program) stop() string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// get returns the body of an answer, which must have the given status.
func get(t *testing.T, address string, status int) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s: status %d, want %d\n%s", address, response.StatusCode, status, body)
	}
	return body
}

func getJSON[T any](t *testing.T, address string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(get(t, address, http.StatusOK), &v); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return v
}

// poll calls f until it returns "" or the test has no time left. Else f returns what it got
// and wants.
func (p *program) poll(f func() (missing string)) {
	p.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for missing := f(); missing != ""; missing = f() {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			p.t.Fatalf("%s, within %v", missing, livetest.Most)
		}
	}
}

// flame is a flame graph, as format=json gives it: arrays by node, the parents as distances.
type flame struct {
	Texts                         []string
	Functions                     struct{ Name []int }
	Function, Parent, Self, Total []int
}

// under adds up the time of functions with a prefix and of all that they called.
func (f flame) under(prefix string) (sum int64) {
	inside := make([]bool, len(f.Function))
	for i, fn := range f.Function {
		inside[i] = i > 0 && inside[i-f.Parent[i]] || fn >= 0 && strings.HasPrefix(f.Texts[f.Functions.Name[fn]], prefix)
		if inside[i] {
			sum += int64(f.Self[i])
		}
	}
	return sum
}

type view struct {
	Total int64
	Unit  string
	Note  string
	Empty string
	Flame flame
	Span  struct{ Complete bool } // of a query for one span: all its samples are there
}

type comparison struct{ Left, Right view }

// span is what the tests need of a span as stdouttrace prints it.
type span struct {
	Name        string
	SpanContext struct{ SpanID, TraceFlags string }
	Parent      struct {
		SpanID string
		Remote bool
	}
	Attributes []struct {
		Key   string
		Value struct{ Value any }
	}
}

func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return fmt.Sprint(a.Value.Value)
		}
	}
	return ""
}

func (s span) localRoot() bool {
	return s.Parent.Remote || strings.Trim(s.Parent.SpanID, "0") == ""
}

// readSpans decodes the spans that are complete in r.
func readSpans(r io.Reader) []span {
	var spans []span
	for decoder := json.NewDecoder(r); ; {
		var s span
		if decoder.Decode(&s) != nil {
			return spans
		}
		spans = append(spans, s)
	}
}

func spansOf(t *testing.T, file string) []span {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	return readSpans(f)
}

func withFormat(t *testing.T, address, format string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("format", format)
	u.RawQuery = q.Encode()
	return u.String()
}
