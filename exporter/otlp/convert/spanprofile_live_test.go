// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package convert_test

import (
	"sync"

	"github.com/google/pprof/profile"
)

// smallSpanProfile is one for all tests.
var smallSpanProfile = sync.OnceValues(func() (*profile.Profile, error) { return spanProfile(60, 40) })
