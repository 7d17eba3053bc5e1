// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Mutants judges tests by mutants: small changes of the code that a test should fail for.
// It runs from the root of the repository:
//
//	mutants [-seed N] [-n 200] [-timeout 60s] ROOM...
//
// A room is a directory pattern, such as ./store/..., with packages of one module. Tests of
// a package judge its mutants. A package without tests is judged by its nearest importers
// in the room. A mutant is killed if a test fails. It is listed if it survives or if the
// tests time out. The exit code is 2 on misuse, and if a room's tests fail without a mutant.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

const (
	killed, survived, timedOut, doesNotBuild = "killed", "survived", "timed out", "does not build"

	parallel    = 2                // mutants at the same time
	buildTime   = 30 * time.Second // what a mutant has beside the timeout of its tests
	outputLimit = 4 << 20          // for mutants that print without end
	// dataLimit is for endless loops that allocate. The address space has no limit, as
	// browsers reserve more than there is memory.
	dataLimit = 4 << 30
)

var (
	seed    = flag.Uint64("seed", 0, "draw the same mutants again; 0: a random seed")
	number  = flag.Int("n", 200, "mutants of each room")
	timeout = flag.Duration("timeout", time.Minute, "timeout of a package's tests")

	root, work string // the working directory and one of temporary files

	buildFailed = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]$`)
	tooLong     = regexp.MustCompile(`(?m)^(panic: test timed out after|\*\*\* Test killed)`)
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 2
	}
	stop()
	os.Exit(code)
}

func run(ctx context.Context) (code int, err error) {
	if flag.NArg() == 0 || *number < 1 || *timeout <= 0 {
		return 0, errors.New("at least one room, and -n and -timeout above zero")
	}
	limit := syscall.Rlimit{Cur: dataLimit, Max: dataLimit}
	err = syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
	var dirErr, workErr error
	root, dirErr = os.Getwd()
	work, workErr = os.MkdirTemp("", "mutants")
	defer func() { _ = os.RemoveAll(work) }()
	if err := errors.Join(err, dirErr, workErr); err != nil {
		return 0, err
	}
	for *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Println("seed", *seed)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	for _, name := range flag.Args() {
		n, err := judge(ctx, name)
		if ctx.Err() != nil {
			return 2, ctx.Err()
		} else if err != nil {
			fmt.Fprintf(os.Stderr, "mutants: %s: %v\n", name, err)
			code = 2
			continue // a night's work on other rooms is not lost
		}
		row := fmt.Sprintf("%s:\tkilled %d,\tsurvived %d,\ttimed out %d\n", name, n[killed], n[survived], n[timedOut])
		fmt.Print(strings.ReplaceAll(row, "\t", " "))
		fmt.Fprint(table, row)
	}
	fmt.Println()
	return code, table.Flush()
}

// judge counts mutants by outcome.
func judge(ctx context.Context, name string) (map[string]int, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	packages, err := list(ctx, name)
	if err != nil {
		return nil, err
	}
	var pool []*mutant
	var judges []string
	for _, p := range packages {
		found, err := mutantsOf(p)
		if err != nil {
			return nil, err
		}
		if p.judges = judgesOf(p, packages); len(p.judges) > 0 {
			pool, judges = append(pool, found...), append(judges, p.judges...)
		} else if len(found) > 0 {
			fmt.Printf("not judged %s: no test of the room reaches it\n", p.ImportPath)
		}
	}
	if len(pool) == 0 {
		return nil, errors.New("no mutants")
	}
	slices.Sort(judges)
	if text, err := test(ctx, filepath.Join(root, strings.TrimSuffix(name, "...")), work, slices.Compact(judges)...); err != nil {
		return nil, fmt.Errorf("tests fail without a mutant: %w\n%s", err, text)
	}
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	n, slots := map[string]int{}, make(chan struct{}, parallel)
	// The next batch replaces what does not build. So a seed draws the same mutants,
	// whatever finishes first.
	for left := *number; left > 0 && len(pool) > 0 && ctx.Err() == nil; {
		batch := pool[:min(left, len(pool))]
		pool = pool[len(batch):]
		var group sync.WaitGroup
		for _, m := range batch {
			slots <- struct{}{}
			group.Go(func() {
				var err error
				if m.outcome, err = outcome(ctx, m); err != nil {
					fail(err)
				} else if m.outcome != killed && m.outcome != doesNotBuild {
					fmt.Printf("%s %s:%d: %s: %s\n", m.outcome, m.path, m.line, m.mutation, m.source)
				}
				<-slots
			})
		}
		group.Wait()
		for _, m := range batch {
			n[m.outcome]++
			if m.outcome != doesNotBuild {
				left--
			}
		}
	}
	return n, context.Cause(ctx)
}

func outcome(ctx context.Context, m *mutant) (string, error) {
	dir, err := os.MkdirTemp(work, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mutated, overlayFile := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	code := slices.Concat(m.code[:m.start], []byte(m.text), m.code[m.end:])
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: mutated}})
	if err := errors.Join(err, os.WriteFile(mutated, code, 0o600), os.WriteFile(overlayFile, overlay, 0o600)); err != nil {
		return "", err
	}
	for _, judge := range m.in.judges {
		limited, cancel := context.WithTimeout(ctx, *timeout+buildTime)
		text, err := test(limited, m.in.Dir, dir, "-overlay", overlayFile, judge)
		late := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && (late || tooLong.Match(text)):
			return timedOut, nil
		case err != nil && buildFailed.Match(text):
			return doesNotBuild, nil
		case err != nil:
			return killed, nil
		}
	}
	return survived, nil
}

type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > outputLimit {
		t.Next(t.Len() - outputLimit/2)
	}
	return t.Buffer.Write(p)
}

// test gives the tests a directory that is removed, as killed ones leave files.
func test(ctx context.Context, dir, temporary string, args ...string) ([]byte, error) {
	var out tail
	args = append([]string{"test", "-p", "1", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", timeout.String()}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temporary)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what a test left running
	}
	return out.Bytes(), err
}

// list returns the packages of a room.
func list(ctx context.Context, name string) (packages []*pkg, err error) {
	dir, all := strings.CutSuffix(name, "...")
	pattern := "."
	if all {
		pattern = "./..."
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-json", pattern)
	cmd.Dir, cmd.Stderr = filepath.Join(root, dir), os.Stderr
	out, err := cmd.Output()
	for d := json.NewDecoder(bytes.NewReader(out)); err == nil && d.More(); {
		packages = append(packages, &pkg{})
		err = d.Decode(packages[len(packages)-1])
	}
	return packages, err
}
