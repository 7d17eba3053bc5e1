// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (!unix && !windows) || solaris || aix

package atomicfile

import "os"

func lock(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
