// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "fmt"

// syntaxError is what is wrong with a FlameQL query, and where.
type syntaxError struct {
	// column counts bytes from 1, place characters.
	column, place int
	msg           string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("flameql: column %d: %s", e.place, e.msg)
}
