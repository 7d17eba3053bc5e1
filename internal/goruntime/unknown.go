// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

import (
	"errors"
	"sync"
)

// ErrPublic is returned by Unknown if the program selects the public API by the build tag
// spanprof_public.
var ErrPublic = errors.New("built with the tag spanprof_public")

// Unknown returns nil if the runtime is as this package expects, whatever its version.
// Otherwise its error describes the difference.
var Unknown = sync.OnceValue(verify)
