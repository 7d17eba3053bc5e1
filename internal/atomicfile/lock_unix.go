// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

func lock(name string, shared bool) (*os.File, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	// The file may be removed between the two calls: its lock is worth nothing then.
	const attempts = 10
	err := ErrLocked
	for range attempts {
		// For writing: NFS has flock only then.
		f, failed := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if failed != nil {
			return nil, failed
		}
		err = flock(f, how|syscall.LOCK_NB)
		if err == nil && isAt(f, name) {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			break
		}
		err = ErrLocked
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: err}
}

func flock(f *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), how); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}

// isAt reports whether f is the file of that name.
func isAt(f *os.File, name string) bool {
	of, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Stat(name)
	return err == nil && os.SameFile(of, at)
}
