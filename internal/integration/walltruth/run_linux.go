// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package walltruth

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoQuota is returned by Run where no CPU quota can be set.
var ErrNoQuota = errors.New("no CPU quota can be set here")

// Run has a process of this program work as planned. Its main function calls Main.
func Run(ctx context.Context, todo Plan) (_ Result, err error) {
	text, err := json.Marshal(todo)
	if err != nil {
		return Result{}, err
	}
	c := exec.CommandContext(ctx, "/proc/self/exe")
	c.Env = append(os.Environ(), programVariable+"="+string(text))
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return Result{}, err
	}
	pipe, err := c.StdoutPipe()
	if err != nil {
		return Result{}, err
	}
	if err := c.Start(); err != nil {
		return Result{}, err
	}
	var cleanup func() error
	defer func() {
		_ = c.Process.Kill() // where it has not ended by itself
		_ = c.Wait()
		if cleanup != nil {
			err = errors.Join(err, cleanup())
		}
	}()
	stdout := bufio.NewReader(pipe)
	if line, err := stdout.ReadString('\n'); err != nil || line != "ready\n" {
		return Result{}, fmt.Errorf("the program says %q: %w", line, err)
	}
	if todo.Quota {
		if cleanup, err = quota(c.Process.Pid); err != nil {
			return Result{}, err
		}
	}
	over, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		if todo.Stop {
			stopped <- stopAndGo(c.Process.Pid, over)
		}
		close(stopped)
	}()
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		return Result{}, err
	}
	line, err := stdout.ReadBytes('\n')
	close(over)
	if err := errors.Join(err, <-stopped); err != nil {
		return Result{}, err
	}
	var r Result
	return r, json.Unmarshal(line, &r)
}

// stopAndGo suspends a process now and then.
func stopAndGo(pid int, over <-chan struct{}) error {
	for {
		for _, step := range []struct {
			signal syscall.Signal
			after  time.Duration
		}{{syscall.SIGSTOP, 400 * time.Millisecond}, {syscall.SIGCONT, 200 * time.Millisecond}} {
			select {
			case <-over: // it goes on, or there would be no result
				return nil
			case <-time.After(step.after):
			}
			if err := syscall.Kill(pid, step.signal); err != nil {
				return err
			}
		}
	}
}

// quota gives a process half of the time of one core, in periods of 100 ms. cleanup
// follows its end.
func quota(pid int) (cleanup func() error, err error) {
	const period, share = "100000", "50000" // us
	name := "spanprof-walltruth-" + strconv.Itoa(os.Getpid())
	v2, v1 := "/sys/fs/cgroup", "/sys/fs/cgroup/cpu"
	controllers, _ := os.ReadFile(filepath.Join(v2, "cgroup.subtree_control")) // there is none in version 1
	dir, settings := filepath.Join(v1, name), map[string]string{"cpu.cfs_period_us": period, "cpu.cfs_quota_us": share}
	for controller := range strings.FieldsSeq(string(controllers)) {
		if controller == "cpu" {
			dir, settings = filepath.Join(v2, name), map[string]string{"cpu.max": share + " " + period}
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoQuota, err)
	}
	cleanup = func() error {
		// The process has ended, but the kernel may not know yet.
		var err error
		for range 100 {
			if err = os.Remove(dir); err == nil {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return err
	}
	for file, value := range settings {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(value), 0))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
	if err != nil {
		return cleanup, fmt.Errorf("%w: %w", ErrNoQuota, err)
	}
	return cleanup, nil
}
