// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	rtrace "runtime/trace"
	"time"

	"github.com/spanprof/spanprof"
)

// direct is the flight recorder without exectrace.Start: each recording is analyzed, and has
// to have all of the spans that it is of.
type direct struct {
	source
	window   time.Duration
	ledger   *ledger
	recorder *rtrace.FlightRecorder
	last     bytes.Buffer
}

func (d *direct) start(_ *spanprof.TracerProvider, l *ledger) error {
	d.ledger = l
	d.recorder = rtrace.NewFlightRecorder(rtrace.FlightRecorderConfig{MinAge: d.window, MaxBytes: 64 << 20})
	return d.recorder.Start()
}

func (d *direct) read() error {
	d.last.Reset()
	_, err := d.recorder.WriteTo(&d.last)
	return err
}

func (d *direct) check() error {
	if !d.recorder.Enabled() || !rtrace.IsEnabled() {
		return errors.New("the flight recorder has stopped")
	}
	d.checkAll(d.last.Bytes(), d.ledger)
	return nil
}

func (d *direct) stop() error {
	d.recorder.Stop()
	return nil
}

func (d *direct) held() bool { return d.found > 0 }
