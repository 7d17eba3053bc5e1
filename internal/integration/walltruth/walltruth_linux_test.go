// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package walltruth

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// TestWallAgreesWithTheProgramsClock compares the wall time of each span with what the
// program has measured itself.
func TestWallAgreesWithTheProgramsClock(t *testing.T) {
	usual := plan{Span: 150 * time.Millisecond, Work: 4 * time.Second, Budget: 0.1, Window: time.Second}
	for name, test := range map[string]struct {
		plan   func(*plan)
		before func(t *testing.T, pid int)                       // it works
		doing  func(t *testing.T, pid int, over <-chan struct{}) // while it does
	}{
		"nothing":            {},
		"GOMAXPROCS changes": {plan: func(p *plan) { p.Procs = true }},
		"SIGSTOP":            {doing: stopAndGo},
		"CPU quota":          {before: quota},
		"100,000 goroutines": {plan: func(p *plan) {
			p.Goroutines, p.Budget = 100_000, 0.5
			p.Span, p.Work, p.Window = 5*time.Second, 15*time.Second, time.Hour
		}},
	} {
		t.Run(name, func(t *testing.T) {
			todo := usual
			if test.plan != nil {
				test.plan(&todo)
			}
			r := run(t, todo, test.before, test.doing)
			var diff, variance, took, total float64
			var outside int
			for _, s := range r.Spans {
				d, e := float64(s.Total-s.Took), float64(s.Error)
				diff, took, total = diff+d, took+float64(s.Took), total+float64(s.Total)
				variance += e * e
				// A span that was over before anybody looked again lacks what
				// nobody has watched.
				if slack := 3*e + r.apart(todo); d > slack || -d > slack+float64(r.Status.Unwatched) {
					outside++
					t.Logf("%s: %v by %d samples ± %v, took %v", s.Kind, s.Total, s.Samples, s.Error, s.Took)
				}
			}
			t.Logf("%d spans took %.3f s, their samples make %.3f s ± %.3f s: %d are further off than three standard errors and an interval; %d rounds, %v apart; %v unwatched in %d freezes",
				len(r.Spans), took/1e9, total/1e9, math.Sqrt(variance)/1e9, outside, r.Status.Rounds, r.Status.Interval, r.Status.Unwatched, r.Status.Freezes)
			if len(r.Spans) == 0 || outside > len(r.Spans)/20 {
				t.Errorf("%d of %d spans are further off than what is said", outside, len(r.Spans))
			}
			slack := 3*math.Sqrt(variance) + r.apart(todo)
			if diff > slack || -diff > slack+goroutines*float64(r.Status.Unwatched) {
				t.Errorf("all are off by %.3f s, with a standard error of %.3f s", diff/1e9, math.Sqrt(variance)/1e9)
			}
		})
	}
}

// apart is the mean time between two rounds while the program worked, in ns: on a busy
// machine it is more than what was planned.
func (r result) apart(todo plan) float64 { return float64(todo.Work) / float64(max(1, r.Status.Rounds)) }

// run has a child work, to which something is done meanwhile.
func run(t *testing.T, todo plan, before func(*testing.T, int), doing func(*testing.T, int, <-chan struct{})) result {
	t.Helper()
	text, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe")
	c.Env = append(os.Environ(), programVariable+"="+string(text))
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill() // where it has not ended by itself
		_ = c.Wait()
	}()
	stdout := bufio.NewReader(pipe)
	if line, err := stdout.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the program says %q: %v", line, err)
	}
	if before != nil {
		before(t, c.Process.Pid)
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if doing != nil {
			doing(t, c.Process.Pid, over)
		}
	}()
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	line, err := stdout.ReadBytes('\n')
	close(over)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// stopAndGo suspends a process now and then.
func stopAndGo(t *testing.T, pid int, over <-chan struct{}) {
	for {
		for _, step := range []struct {
			signal syscall.Signal
			after  time.Duration
		}{{syscall.SIGSTOP, 400 * time.Millisecond}, {syscall.SIGCONT, 200 * time.Millisecond}} {
			select {
			case <-over: // it goes on, or there would be no result
				return
			case <-time.After(step.after):
			}
			if err := syscall.Kill(pid, step.signal); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// quota gives a process half of the time of one core, in periods of 100 ms.
func quota(t *testing.T, pid int) {
	const period, share = "100000", "50000" // us
	name := "spanprof-walltruth-" + strconv.Itoa(os.Getpid())
	v2, v1 := "/sys/fs/cgroup", "/sys/fs/cgroup/cpu"
	controllers, _ := os.ReadFile(filepath.Join(v2, "cgroup.subtree_control")) // there is none in version 1
	var dir string
	var settings map[string]string
	if strings.Contains(string(controllers), "cpu ") || strings.HasSuffix(strings.TrimSpace(string(controllers)), "cpu") {
		dir, settings = filepath.Join(v2, name), map[string]string{"cpu.max": share + " " + period}
	} else {
		dir, settings = filepath.Join(v1, name), map[string]string{"cpu.cfs_period_us": period, "cpu.cfs_quota_us": share}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		loudskip.Test(t, "no CPU quota can be set here: "+err.Error())
	}
	t.Cleanup(func() {
		// The process has ended, but the kernel may not know yet.
		var err error
		for range 100 {
			if err = os.Remove(dir); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error(err)
	})
	for file, value := range settings {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
			loudskip.Test(t, "no CPU quota can be set here: "+err.Error())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		loudskip.Test(t, "no CPU quota can be set here: "+err.Error())
	}
}
