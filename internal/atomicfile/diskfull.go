// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix || windows

package atomicfile

import (
	"errors"
	"runtime"
	"syscall"
)

// DiskFull reports whether err means that the file system, or the user's quota, is full.
func DiskFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112) // ERROR_DISK_FULL
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}
