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
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrLocked
	}
	return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
}
