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

// build compiles an example and returns a command for it.
func build(t *testing.T, name string, args ...string) (context.Context, *exec.Cmd) {
	t.Helper()
	ctx := livetest.Context(t, livetest.Most)
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v, %v\n%s", name, err, ctx.Err(), out)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stderr = os.Stderr
	return ctx, cmd
}

// start runs an example until it prints the address of its page.
func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{t: t, done: make(chan struct{})}
	p.ctx, p.cmd = build(t, name, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = 10 * time.Second
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opened := make(chan string, 1)
	go p.read(stdout, opened)
	select {
	case p.page = <-opened:
	case <-p.done:
		t.Fatalf("%s ended without the address of its page:\n%s", name, p.text())
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

// stop interrupts the program as Ctrl-C does, and returns all output.
func (p *program) stop() string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("exit: %v\n%s", err, p.text())
	}
	return p.text()
}

// root is the address of the program's server.
func (p *program) root() string {
	u, err := url.Parse(p.page)
	if err != nil {
		p.t.Fatal(err)
	}
	return "http://" + u.Host
}

// get returns the body of an answer with status 200.
func get(t *testing.T, address string) []byte {
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
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d\n%s", address, response.StatusCode, body)
	}
	return body
}

// getJSON returns the answer of a page as JSON.
func getJSON[T any](t *testing.T, address string) (v T) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("format", "json")
	u.RawQuery = q.Encode()
	if err := json.Unmarshal(get(t, u.String()), &v); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return v
}

// ask returns the answer to a query.
func ask[T any](p *program, query string) T {
	p.t.Helper()
	page, _, _ := strings.Cut(p.page, "?")
	return getJSON[T](p.t, page+"?query="+url.QueryEscape(query))
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

// view is a profile on the page.
type view struct {
	Total int64
	Empty string
	Flame struct{ Texts []string }
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
