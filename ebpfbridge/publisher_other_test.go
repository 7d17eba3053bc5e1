// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ebpfbridge_test

import (
	"errors"
	"testing"

	"github.com/spanprof/spanprof/ebpfbridge"
)

func TestUnsupported(t *testing.T) {
	if _, err := ebpfbridge.Publish(nil); !errors.Is(err, ebpfbridge.ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}
