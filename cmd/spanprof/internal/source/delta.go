// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// ErrRestarted says that two profiles are of different runs of a process.
var ErrRestarted = errors.New("the process was restarted in between")

// Run identifies the run of a process that a profile was taken of: by its
// binary, and by where Linux has put the vDSO, which is somewhere else in each
// run. It is empty where the profile does not tell runs apart.
func Run(p *profile.Profile) string {
	for _, m := range p.Mapping {
		if m.File == "[vdso]" {
			return fmt.Sprintf("%s %x %x", BuildID(p), p.Mapping[0].Start, m.Start)
		}
	}
	return ""
}

// maxText bounds what a profile says of its program. File names have at most as
// many bytes, build ids some dozens.
const maxText = 255

// BuildID returns that of the program, which is the first mapping; empty where
// the linker has given none, or what is there cannot be one.
func BuildID(p *profile.Profile) string {
	if len(p.Mapping) == 0 || len(p.Mapping[0].BuildID) > maxText {
		return ""
	}
	return p.Mapping[0].BuildID
}

// Delta returns what was counted between two profiles that count since the
// process began. Live memory, the inuse values of a heap profile, is that of the
// end. It returns ErrRestarted if they are of different runs.
func Delta(begin, end *profile.Profile) (*profile.Profile, error) {
	if a, b := Run(begin), Run(end); a != "" && b != "" && a != b {
		return nil, ErrRestarted
	}
	if len(begin.SampleType) != len(end.SampleType) {
		return nil, ErrRestarted // another binary
	}
	base := begin.Copy()
	for _, s := range base.Sample {
		for i, t := range base.SampleType {
			if strings.HasPrefix(t.Type, "inuse_") {
				s.Value[i] = 0
			}
			s.Value[i] = -s.Value[i]
		}
	}
	delta, err := profile.Merge([]*profile.Profile{end, base})
	if err != nil {
		return nil, err
	}
	for _, s := range delta.Sample {
		for _, v := range s.Value {
			if v < 0 { // nothing that is counted becomes less
				return nil, ErrRestarted
			}
		}
	}
	delta.TimeNanos = cmp.Or(begin.TimeNanos, end.TimeNanos)
	delta.DurationNanos = max(0, end.TimeNanos-begin.TimeNanos)
	return delta, nil
}

// live returns the live memory of a heap profile, and nothing of what was
// counted since the process began; the profile is a snapshot then.
func live(p *profile.Profile) *profile.Profile {
	snapshot := p.Copy()
	for _, s := range snapshot.Sample {
		for i, t := range snapshot.SampleType {
			if !strings.HasPrefix(t.Type, "inuse_") {
				s.Value[i] = 0
			}
		}
	}
	snapshot.DurationNanos = 0
	return snapshot
}
