// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import "github.com/spanprof/spanprof/exporter"

// sampler measures one kind, piece after piece. Only the loop calls it.
//
// rotate and stop return the profile of the piece that they close, and nil if
// none was open or if it could not be read, which is an error. An error is to be
// reported and does not keep the sampler from going on; it can come with a
// profile. After stop, start begins again.
type sampler interface {
	// start opens the first piece.
	start() error
	// rotate closes the open piece and opens the next.
	rotate() (*exporter.Profile, error)
	// stop closes the open piece.
	stop() (*exporter.Profile, error)
}
