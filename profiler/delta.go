// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ sampler = (*delta)(nil)

// delta takes the difference between one profile and the next of what the
// runtime counts since the process began.
type delta struct {
	kind     exporter.Kind
	resource *resource.Resource
	profiler interface{ Profile(w io.Writer) error } // one of godeltaprof's
	// on, which may be nil, makes the runtime count and returns what ends it.
	on     func() (off func())
	off    func()
	opened time.Time
}

// start takes a profile and throws it away: it holds what was counted before.
func (d *delta) start() error {
	if d.on != nil {
		d.off = d.on()
	}
	d.opened = time.Now()
	if err := d.profiler.Profile(io.Discard); err != nil {
		return fmt.Errorf("%s profile: the first window holds everything so far: %w", d.kind, err)
	}
	return nil
}

func (d *delta) rotate() (*exporter.Profile, error) {
	opened := d.opened
	d.opened = time.Now()
	var b bytes.Buffer
	if err := d.profiler.Profile(&b); err != nil {
		return nil, fmt.Errorf("%s profile: %w", d.kind, err)
	}
	return exporter.NewProfile(exporter.Window{
		Kind:     d.kind,
		Start:    opened,
		Duration: d.opened.Sub(opened),
		Resource: d.resource,
	}, b.Bytes()), nil
}

func (d *delta) stop() (*exporter.Profile, error) {
	w, err := d.rotate()
	if d.off != nil {
		d.off()
		d.off = nil
	}
	return w, err
}
