// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import "fmt"

// Measured costs of the parts of a profile, in bytes allocated until it is written
// as pprof. In OTLP samples share stacks and attributes, and profiles
// share the tables. In pprof each has its own, so 50 kB of OTLP could take
// gigabytes.
const (
	sampleCost    = 400
	linkCost      = 750 // its ids as labels
	attributeCost = 350 // without its values
	valueCost     = 175
	frameCost     = 30 // of a sample's stack
	locationCost  = 400
	lineCost      = 100
	functionCost  = 400
	timestampCost = 8
	indexCost     = 64 // of an attribute, read again for each profile
)

// spend counts the cost of n parts, and returns an error if the message costs too
// much.
func (d *decoder) spend(n int, cost int64) error {
	if d.cost += int64(n) * cost; d.cost > d.maxCost {
		return fmt.Errorf("the message would take more than %d MiB of memory as pprof", d.maxCost>>20)
	}
	return nil
}
