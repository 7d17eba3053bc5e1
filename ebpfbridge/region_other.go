// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ebpfbridge

import (
	"fmt"
	"runtime"
)

// region is the memory of a context.
type region struct{}

func newRegion([]byte) (region, error) {
	return region{}, fmt.Errorf("%w on %s: OTEP 4719 is for Linux", ErrUnsupported, runtime.GOOS)
}

func (region) close() error { return nil }

func foreignContext() string { return "" }
