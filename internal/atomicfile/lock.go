// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrLocked is returned by Lock where another holds the lock.
var ErrLocked = errors.New("in use already")

// lockName is the file in the directory that is locked. It stays.
const lockName = "spanprof.lock"

// Lock keeps dir from others, in this process too, until the file is closed or
// the process ends, however it does. Systems without such a lock, which are
// neither Unix nor Windows or are Solaris or AIX, let everybody in.
func Lock(dir string) (*os.File, error) {
	return lock(filepath.Join(dir, lockName))
}
