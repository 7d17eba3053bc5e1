// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "fmt"

// badRequest is an error that the client can mend.
type badRequest struct {
	err error
}

func badRequestf(format string, args ...any) error {
	return badRequest{err: fmt.Errorf(format, args...)}
}

func (e badRequest) Error() string { return e.err.Error() }

func (e badRequest) Unwrap() error { return e.err }
