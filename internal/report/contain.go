// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package report keeps failures of other people's code from doing harm. [Contain]
// turns a panic of a call into an error. A [Reporter] gives errors to otel.Handle
// without waiting for the program's handler.
package report

import (
	"fmt"
	"reflect"
	"runtime/debug"
)

// Contain calls f and turns a panic or a runtime.Goexit into an error. The error
// includes the stack, which shows where the exporter failed.
//
// f runs on its own goroutine because nothing stops a Goexit: it would end the worker.
func Contain(f func() error) error {
	result := make(chan error, 1)
	go func() {
		var (
			err      error
			returned bool
		)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			} else if !returned {
				err = fmt.Errorf("the call ended its goroutine by runtime.Goexit, as t.FailNow does\n%s", debug.Stack())
			}
			result <- err
		}()
		err = f()
		returned = true
	}()
	return <-result
}

// IsNil reports whether v is nil or a nil pointer.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}
