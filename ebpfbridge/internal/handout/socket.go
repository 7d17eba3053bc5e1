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
	"strings"
	"syscall"
	"time"
)

// maxPath is how long a socket's path may be in Linux, in bytes.
const maxPath = 107

// Listen is ListenUnix for the hand-out, in the host's pid namespace only. All users may connect:
// each process gets its own samples.
func Listen(path string) (*net.UnixListener, error) {
	if err := CheckNamespace(); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return ListenUnix(path, 0o666)
}

// ListenUnix makes a socket file, which Close removes. A socket without a listening process is
// replaced. A socket in use, and any other file, is an error.
func ListenUnix(path string, mode os.FileMode) (*net.UnixListener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("socket %s: the directory %s does not exist: make it first", path, filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

func checkPath(path string) error {
	switch {
	case path == "" || path[0] == '@' || strings.ContainsRune(path, 0):
		return fmt.Errorf("socket %q: give the path of a file", path)
	case len(path) > maxPath:
		return fmt.Errorf("socket %s: the path has %d bytes, %d are allowed", path, len(path), maxPath)
	}
	return nil
}

// removeStale removes a socket that a program left that has ended.
func removeStale(path string) error {
	file, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("socket %w", err)
	}
	if file.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("socket %s: there is a file that is no socket: remove it, or give another path", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(fmt.Errorf("socket %s: another program listens there: stop it, or give another path", path), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s: is it in use? %w", path, err)
	}
	return os.Remove(path)
}
