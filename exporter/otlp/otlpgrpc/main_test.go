// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc_test

import (
	"os"
	"testing"

	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
