// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// ErrLocked is returned by Lock where another holds the lock.
var ErrLocked = errors.New("in use already")

// LockName is the file in the directory that is locked. It stays, but for RemoveLocked.
const LockName = "spanprof.lock"

// lockWait is how long Lock waits for another holder, which may be a process that
// is ending while its successor starts.
const lockWait = time.Second

// Lock keeps dir from others, in this process too, until the file is closed or
// the process ends, however it does. It waits a second for another holder and then
// returns ErrLocked. Systems without such a lock, which are neither Unix nor Windows
// or are Solaris or AIX, let everybody in.
func Lock(dir string) (*os.File, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(lockWait / 50) {
		f, err := TryLock(dir)
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return f, err
		}
	}
}

// TryLock is Lock without the wait.
func TryLock(dir string) (*os.File, error) { return lock(filepath.Join(dir, LockName), false) }

// TryShare is TryLock for many at a time: it returns ErrLocked only where one has the lock
// alone, and keeps others from having it so.
func TryShare(dir string) (*os.File, error) { return lock(filepath.Join(dir, LockName), true) }

// RemoveLocked removes a directory that held has locked alone and that has no other files
// any more. Another process that waits for the lock never has that of the removed directory:
// it gets fs.ErrNotExist, or keeps the directory alive.
func RemoveLocked(dir string, held *os.File) error {
	name := filepath.Join(dir, LockName)
	var err error
	if runtime.GOOS == "windows" { // an open file cannot be removed, nor can one that another has opened since
		err = errors.Join(held.Close(), os.Remove(name))
	} else {
		err = errors.Join(os.Remove(name), held.Close())
	}
	return errors.Join(err, os.Remove(dir))
}
