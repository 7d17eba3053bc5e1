// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// ErrLocked is returned by Lock if another holds the lock.
var ErrLocked = errors.New("in use already")

// LockName is the file in the directory that is locked. It stays.
const LockName = "spanprof.lock"

// lockWait is how long Lock waits for another holder. It may be a process that is ending
// while its successor starts.
const lockWait = time.Second

// Lock reserves dir until the file is closed or the process ends. It excludes others in this
// process too. It waits a second for another holder and then returns ErrLocked. On Solaris,
// AIX and systems other than Unix and Windows it excludes nobody.
func Lock(dir string) (*os.File, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(lockWait / 50) {
		f, err := TryLock(dir)
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return f, err
		}
	}
}

// TryLock is Lock without the wait.
func TryLock(dir string) (*os.File, error) { return lock(filepath.Join(dir, LockName)) }
