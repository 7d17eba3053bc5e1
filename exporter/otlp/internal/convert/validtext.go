// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// validUTF8 returns s as protobuf accepts it. Different texts may become the
// same by it, so that it comes before whatever looks for duplicates.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// validLabels returns s, or a sample with its labels as protobuf accepts them.
// Labels with keys that become equal are one label with several values.
func validLabels(s *profile.Sample) *profile.Sample {
	if hasValidLabels(s) {
		return s
	}
	valid := &profile.Sample{Label: map[string][]string{}, NumLabel: map[string][]int64{}, NumUnit: map[string][]string{}}
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		k := validUTF8(key)
		for _, text := range s.Label[key] {
			valid.Label[k] = append(valid.Label[k], validUTF8(text))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		k, units := validUTF8(key), s.NumUnit[key]
		for i, n := range s.NumLabel[key] {
			unit := ""
			if i < len(units) {
				unit = validUTF8(units[i])
			}
			valid.NumLabel[k] = append(valid.NumLabel[k], n)
			valid.NumUnit[k] = append(valid.NumUnit[k], unit)
		}
	}
	return valid
}

func hasValidLabels(s *profile.Sample) bool {
	for key, texts := range s.Label {
		if !utf8.ValidString(key) || slices.ContainsFunc(texts, isInvalid) {
			return false
		}
	}
	for key := range s.NumLabel {
		if !utf8.ValidString(key) || slices.ContainsFunc(s.NumUnit[key], isInvalid) {
			return false
		}
	}
	return true
}

func isInvalid(s string) bool { return !utf8.ValidString(s) }
