// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge

import (
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/sdk/resource"
)

var (
	// ErrUnsupported is returned by Publish where there is no process context: on systems
	// other than Linux, and where the kernel refuses to create a memfd.
	ErrUnsupported = errors.New("process context not supported")

	// ErrPublished is returned by Publish if the process already has a context,
	// this package's or another library's. The error names its mapping.
	ErrPublished = errors.New("process context already published")
)

// Publisher is the process context that this process has published.
// It is safe for concurrent use.
type Publisher struct{ region region }

// published guards the one context of the process.
var published struct {
	sync.Mutex
	by *Publisher
}

// Publish makes res readable for the node's agent until Close; nil means
// resource.Default().
//
// It fails with [ErrUnsupported] or [ErrPublished], for a Resource of more than 64 KiB, or with
// the kernel's error; then nothing is left behind.
func Publish(res *resource.Resource) (*Publisher, error) {
	payload, err := encode(res)
	if err != nil {
		return nil, err
	}
	published.Lock()
	defer published.Unlock()
	if published.by != nil {
		return nil, fmt.Errorf("ebpfbridge: %w by this package", ErrPublished)
	}
	if other := foreignContext(); other != "" {
		return nil, fmt.Errorf("ebpfbridge: %w by other code, as %s", ErrPublished, other)
	}
	r, err := newRegion(payload)
	if err != nil {
		return nil, fmt.Errorf("ebpfbridge: %w", err)
	}
	published.by = &Publisher{r}
	return published.by, nil
}

// Close withdraws the context and frees its memory. Another one may be published
// after that. Calls after the first do nothing.
func (p *Publisher) Close() error {
	published.Lock()
	defer published.Unlock()
	if published.by != p {
		return nil
	}
	published.by = nil
	if err := p.region.close(); err != nil {
		return fmt.Errorf("ebpfbridge: %w", err)
	}
	return nil
}
