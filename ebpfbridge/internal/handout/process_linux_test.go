// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPeer(t *testing.T) {
	l, err := ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	p, err := peerOf(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
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
