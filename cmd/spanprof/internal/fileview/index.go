// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// maxIDs bounds the list of spans.
const maxIDs = 200_000

// ids are the ids of the spans in profiles, in their order. Files have no span records, but
// samples have labels.
type ids struct {
	list  []string
	known map[string]bool
	// more is set if there are more than maxIDs.
	more bool
}

// add adds the ids of the samples of a profile.
func (x *ids) add(p *profile.Profile) {
	if x.known == nil {
		x.known = make(map[string]bool)
	}
	for _, s := range p.Sample {
		for _, label := range []string{labelkey.ProfileID, labelkey.SpanID} {
			for _, id := range s.Label[label] {
				switch {
				case id == "" || x.known[id]:
				case len(x.list) == maxIDs:
					x.more = true
				default:
					x.known[id] = true
					x.list = append(x.list, id)
				}
			}
		}
	}
}
