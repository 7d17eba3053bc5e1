// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
)

// Listen returns a listener for agents, on a unix socket for ServeGRPC:
//
//	ebpf-profiler -collection-agent unix:///run/spanprof-agent/otlp.sock -disable-tls
//
// Accept closes the connections of all users except root and the own user. ServeGRPC counts and
// reports them.
//
// The directory must exist. It is an error if other users may write to it, or may replace
// it. A container with this directory can send as root: give programs another directory.
// A socket of an ended process is replaced. A socket in use is an error. Close removes the
// socket. Listen needs Linux.
func Listen(path string) (*Listener, error) {
	own := uint32(os.Geteuid())
	if err := handout.CheckDirectory(filepath.Dir(path), own); err != nil {
		return nil, fmt.Errorf("receiver: socket %s: %w", path, err)
	}
	mode := os.FileMode(0o600)
	if own != 0 {
		mode = 0o666 // root without CAP_DAC_OVERRIDE needs it; Accept refuses others
	}
	l, err := handout.ListenUnix(path, mode)
	if err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	return &Listener{l, []uint32{0, own}, func(error) {}}, nil
}

// Listener accepts the connections of root and of the own user.
type Listener struct {
	net.Listener
	users   []uint32
	refused func(error) // called by Accept
}

// Accept returns the next connection of a permitted user.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		user, err := handout.PeerUser(conn)
		if err == nil && slices.Contains(l.users, user) {
			return conn, nil
		}
		if err == nil {
			err = fmt.Errorf("refused a connection of user %d: an agent runs as root, or as this program's user", user)
		}
		l.refused(fmt.Errorf("receiver: socket %s: %w", l.Addr(), err))
		_ = conn.Close()
	}
}
