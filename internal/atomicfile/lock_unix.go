// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

func lock(name string) (*os.File, error) {
	// For writing: NFS has flock only then.
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: errors.Join(err, f.Close())}
}
