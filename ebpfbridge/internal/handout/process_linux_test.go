// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// accepted returns the process at the other end of a connection that open makes.
func accepted(t *testing.T, open func(path string)) *process {
	t.Helper()
	l, err := ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	open(l.Addr().String())
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p, err := peerOf(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func dialIt(t *testing.T) func(path string) {
	return func(path string) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func TestPeer(t *testing.T) {
	p := accepted(t, dialIt(t))
	if p.pid != own || p.user != uint32(os.Geteuid()) || p.start == 0 {
		t.Errorf("%+v, want this process", p)
	}
	if err := p.check(); err != nil {
		t.Error(err)
	}
	started, err := p.started()
	if err != nil {
		t.Fatal(err)
	}
	if at := time.Unix(0, int64(started)); at.After(loaded) || at.Before(loaded.Add(-time.Minute)) {
		t.Errorf("the process started at %v, want somewhat before %v", at, loaded)
	}
}

var loaded = time.Now()

// TestPeerThatEnds has a process that connects and ends.
func TestPeerThatEnds(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperConnects$")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := accepted(t, func(path string) {
		cmd.Env = append(os.Environ(), connectVariable+"="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	})
	if err := p.check(); err != nil || p.pid != int64(cmd.Process.Pid) {
		t.Errorf("process %d, %v, want %d", p.pid, err, cmd.Process.Pid)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := p.check(); err == nil {
		t.Error("no error after its end")
	}
}

const connectVariable = "SPANPROF_TEST_CONNECT"

// TestHelperConnects is the process of TestPeerThatEnds.
func TestHelperConnects(t *testing.T) {
	path := os.Getenv(connectVariable)
	if path == "" {
		return
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = conn.Close()
}
