// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// nameCount counts spans of one name, over some time.
type nameCount struct {
	nameTexts
	nameNumbers
}

type nameNumbers struct {
	duration, maxDuration, cpu time.Duration
	spans, errors, cpuCount    int64
}

func (c *nameCount) add(other nameCount) {
	c.label = orElse(other.label, c.label)
	c.spans += other.spans
	c.errors += other.errors
	c.duration += other.duration
	c.maxDuration = max(c.maxDuration, other.maxDuration)
	c.cpu += other.cpu
	c.cpuCount += other.cpuCount
}
