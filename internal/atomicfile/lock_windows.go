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

func lock(name string, shared bool) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	access, others := uint32(syscall.GENERIC_READ|syscall.GENERIC_WRITE), uint32(0) // nobody else may open it
	if shared {
		access, others = syscall.GENERIC_READ, syscall.FILE_SHARE_READ
	}
	h, err := syscall.CreateFile(path, access, others, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		return os.NewFile(uintptr(h), name), nil
	case errors.Is(err, sharingViolation):
		err = ErrLocked
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: err}
}
