// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge

import "errors"

var (
	// ErrUnsupported is returned by Publish where there is no process context:
	// on systems other than Linux, and where the kernel refuses both to create
	// a memfd and to name memory.
	ErrUnsupported = errors.New("process context not supported")

	// ErrPublished is returned by Publish if the process already has a context,
	// this package's or another library's. The error names its mapping.
	ErrPublished = errors.New("process context already published")

	// ErrTooLarge is returned by Publish and Update for a Resource that takes more
	// than [MaxPayloadSize] bytes. An existing context stays.
	ErrTooLarge = errors.New("process context too large")

	// ErrClosed is returned by Update after Close.
	ErrClosed = errors.New("process context closed")
)
