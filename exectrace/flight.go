// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"errors"
	"fmt"
	"io"
	rtrace "runtime/trace"
)

// ErrForeignTrace is the error of Status and Shutdown while another execution trace keeps
// the flight recorder on. To stop it might end that trace.
var ErrForeignTrace = errors.New("exectrace: another execution trace is on, and keeps the flight recorder on")

var (
	errSecondRecorder = errors.New("exectrace: another flight recorder is on: Go has one for each process")
	errForeignStop    = errors.New("exectrace: a call of runtime/trace.Stop without a trace of its own ended the recording")
)

// flight is the flight recorder of the process. It is used by one goroutine: go test -race
// reports races of runtime/trace otherwise.
type flight struct{ recorder *rtrace.FlightRecorder }

func (f *flight) on() bool { return f.recorder != nil }

func (f *flight) start(c rtrace.FlightRecorderConfig) error {
	recorder := rtrace.NewFlightRecorder(c)
	if err := recorder.Start(); err != nil {
		return fmt.Errorf("%w: %w", errSecondRecorder, err)
	}
	f.recorder = recorder
	return nil
}

// interrupted reports whether other code has ended the recording.
func (f *flight) interrupted() bool { return f.on() && !rtrace.IsEnabled() }

// stop ends the recording. It returns false while another execution trace is on. Then the
// caller tries again.
//
// Package runtime/trace counts the readers of the trace, and stops it with the last one. A
// foreign Stop without a Start removes the recorder from that count. After a foreign Start
// then, FlightRecorder.Stop would end that trace. So stop starts a trace of its own for some
// milliseconds first. That fails while a foreign trace is on, and a foreign Start fails
// in that time.
func (f *flight) stop() bool {
	if !f.on() {
		return true
	}
	if foreignTrace() {
		return false
	}
	f.recorder.Stop()
	rtrace.Stop()
	f.recorder = nil
	return true
}

// foreignTrace reports whether a trace of other code is on. If not, it starts one, which the
// caller stops.
func foreignTrace() bool { return rtrace.Start(io.Discard) != nil }

// write writes the recording to w.
func (f *flight) write(w io.Writer) error {
	if _, err := f.recorder.WriteTo(w); err != nil {
		return fmt.Errorf("exectrace: flight recorder: %w", err)
	}
	return nil
}
