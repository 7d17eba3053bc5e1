// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "fmt"

// What a part of a profile costs, in bytes that are allocated until it is written
// as pprof, as measured. In OTLP samples share stacks and attributes, and profiles
// the tables; in pprof each has its own, so that 50 kB of OTLP could take
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

// defaultMaxCost is that of a message: 100,000 samples, which are a minute of CPU time
// of 16 cores, with 40 frames, a Link and 4 attributes each, and some to spare.
const defaultMaxCost = 512 << 20

// spend counts the cost of n parts, and returns an error if the message costs too
// much.
func (d *decoder) spend(n int, cost int64) error {
	if d.cost += int64(n) * cost; d.cost > d.maxCost {
		return fmt.Errorf("the message would take more than %d MiB of memory as pprof", d.maxCost>>20)
	}
	return nil
}
