// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "go.opentelemetry.io/otel/attribute"

// scopeName is the instrumentation scope of the profiles.
const scopeName = "github.com/spanprof/spanprof"

// Attributes of the scope for which there is no semantic convention.
const (
	kindKey          = attribute.Key("spanprof.profile.kind")
	linkProfileIDKey = attribute.Key("spanprof.link.profile_id")
)

// Keys of the map that holds a number of a label with several numbers, where
// its unit is not that of the first one.
const (
	valueKey = attribute.Key("value")
	unitKey  = attribute.Key("unit")
)
