// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// CheckDirectory returns an error if other users than root and own may write to a
// directory, or may replace it.
func CheckDirectory(dir string, own uint32) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, leaf := range []string{path, target} {
		for d := leaf; ; d = filepath.Dir(d) {
			info, err := os.Lstat(d)
			if err != nil {
				return err
			}
			owner := info.Sys().(*syscall.Stat_t).Uid
			// A sticky directory such as /tmp protects the directories in it.
			open := info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSymlink == 0 && (d == target || info.Mode()&fs.ModeSticky == 0)
			if open || owner != 0 && owner != own {
				return fmt.Errorf("the directory %s has mode %v and owner %d, so other users can replace the socket: "+
					"use a directory of root or user %d, below directories of theirs, without write permission for group and others", d, info.Mode(), owner, own)
			}
			if d == filepath.Dir(d) {
				break
			}
		}
	}
	return nil
}

// PeerUser returns the effective user id of the process that connected.
func PeerUser(conn net.Conn) (uint32, error) {
	peer, err := credentials(conn, func(int) {})
	if err != nil {
		return 0, err
	}
	return peer.Uid, nil
}

// credentials returns the process that connected and its user. It calls with for the descriptor
// of the connection.
func credentials(conn net.Conn, with func(fd int)) (peer *unix.Ucred, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		if peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			with(int(fd))
		}
	})
	if err := errors.Join(controlErr, err); err != nil {
		return nil, fmt.Errorf("SO_PEERCRED: %w", err)
	}
	return peer, nil
}
