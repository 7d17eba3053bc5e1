// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION of winerror.h.
const sharingViolation = syscall.Errno(32)

func lock(name string) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	const notShared = 0
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, notShared, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		return os.NewFile(uintptr(h), name), nil
	case errors.Is(err, sharingViolation):
		err = ErrLocked
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: err}
}
