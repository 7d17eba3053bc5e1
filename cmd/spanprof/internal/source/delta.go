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

// errRestarted is the error for two profiles of different runs of a process.
var errRestarted = errors.New("the process was restarted in between")

// Run identifies the run of a process that a profile was taken of: by its
// binary, and by where Linux has put the vDSO, which is somewhere else in each
// run. It is empty where the profile does not distinguish runs.
func Run(p *profile.Profile) string {
	for _, m := range p.Mapping {
		if m.File == "[vdso]" {
			return fmt.Sprintf("%s %x %x", BuildID(p), p.Mapping[0].Start, m.Start)
		}
	}
	return ""
}

// maxText bounds the text about a program in its profile. File names have at most as many
// bytes, build ids some dozens.
const maxText = 255

// BuildID returns the build id of the program, the first mapping. It is empty if the linker
// has given none, or if the text is too long.
func BuildID(p *profile.Profile) string {
	if len(p.Mapping) == 0 || len(p.Mapping[0].BuildID) > maxText {
		return ""
	}
	return p.Mapping[0].BuildID
}

// difference returns the difference between two profiles that count since the process began.
// Live memory, the inuse values of a heap profile, is from the end. It returns errRestarted
// if they are of different runs. It changes begin: a copy may take 384 MiB more.
func difference(begin, end *profile.Profile) (*profile.Profile, error) {
	if a, b := Run(begin), Run(end); a != "" && b != "" && a != b {
		return nil, errRestarted
	}
	if len(begin.SampleType) != len(end.SampleType) {
		return nil, errRestarted // another binary
	}
	for _, s := range begin.Sample {
		for i, t := range begin.SampleType {
			if strings.HasPrefix(t.Type, "inuse_") {
				s.Value[i] = 0
			}
			s.Value[i] = -s.Value[i]
		}
	}
	delta, err := profile.Merge([]*profile.Profile{end, begin})
	if err != nil {
		return nil, err
	}
	for _, s := range delta.Sample {
		for _, v := range s.Value {
			if v < 0 { // nothing that is counted becomes less
				return nil, errRestarted
			}
		}
	}
	delta.TimeNanos = cmp.Or(begin.TimeNanos, end.TimeNanos)
	delta.DurationNanos = max(0, end.TimeNanos-begin.TimeNanos)
	return delta, nil
}
