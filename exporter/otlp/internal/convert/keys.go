// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "go.opentelemetry.io/otel/attribute"

// scopeName is the instrumentation scope of the profiles.
const scopeName = "github.com/spanprof/spanprof"

// Attributes of the scope without a semantic convention.
const (
	kindKey          = attribute.Key("spanprof.profile.kind")
	linkProfileIDKey = attribute.Key("spanprof.link.profile_id")
)

// Keys of the map for a number of a label with several numbers, if its unit differs from
// the first.
const (
	valueKey = attribute.Key("value")
	unitKey  = attribute.Key("unit")
)
