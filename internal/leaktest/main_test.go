// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package leaktest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }
