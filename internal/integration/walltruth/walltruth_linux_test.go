// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package walltruth

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	done, err := Main(nil)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case !done:
		os.Exit(m.Run())
	}
}
