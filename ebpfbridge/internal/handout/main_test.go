// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
