// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"errors"
	"fmt"
	"io"
	rtrace "runtime/trace"
)

var (
	// ErrSecondRecorder says that another flight recorder is on: Go has one for each
	// process.
	ErrSecondRecorder = errors.New("exectrace: another flight recorder is on, and Go has one for each process: it is tried again")
	// ErrForeignStop says that something in the program has called runtime/trace.Stop
	// without a Start of its own, which ends the flight recording.
	ErrForeignStop = errors.New("exectrace: something called runtime/trace.Stop while no trace of its own was on: what was recorded is lost, and recording begins anew")
	// ErrForeignTrace says that the flight recorder goes on for now because another
	// execution trace is on, which its stop might end.
	ErrForeignTrace = errors.New("exectrace: another execution trace is on: the flight recorder is left on, as its stop might end that trace")
)

// flight is the flight recorder of the process. One goroutine uses it: its methods are not
// safe for concurrent use, which go test -race reports of those of runtime/trace.
type flight struct{ recorder *rtrace.FlightRecorder }

func (f *flight) on() bool { return f.recorder != nil }

func (f *flight) start(c rtrace.FlightRecorderConfig) error {
	recorder := rtrace.NewFlightRecorder(c)
	if err := recorder.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrSecondRecorder, err)
	}
	f.recorder = recorder
	return nil
}

// interrupted reports whether something else has ended the recording.
func (f *flight) interrupted() bool { return f.on() && !rtrace.IsEnabled() }

// stop ends the recording. It returns false while another execution trace is on: then the
// caller tries again.
//
// Package runtime/trace counts who reads the trace, and stops it with the last one. A foreign
// Stop without a Start takes the recorder out of that count. If a foreign Start comes next,
// the trace is that one's alone, and FlightRecorder.Stop would end it. So this is called
// only while a trace of our own is on, for some milliseconds: nobody else's can be on then,
// and a Start of somebody else fails.
func (f *flight) stop() bool {
	if !f.on() {
		return true
	}
	if rtrace.Start(io.Discard) != nil {
		return false
	}
	f.recorder.Stop()
	rtrace.Stop()
	f.recorder = nil
	return true
}

// write writes the recording to w.
func (f *flight) write(w io.Writer) (int64, error) {
	n, err := f.recorder.WriteTo(w)
	if err != nil {
		err = fmt.Errorf("exectrace: flight recorder: %w", err)
	}
	return n, err
}
