// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// attributeText returns an attribute in one line.
func attributeText(a store.Attribute) string {
	text := termtext.OneLine(a.Key) + "="
	if value := termtext.OneLine(a.Value); strings.ContainsRune(value, ' ') {
		text += strconv.Quote(value)
	} else {
		text += value
	}
	if a.Child != "" {
		text += " (" + termtext.OneLine(a.Child) + ")"
	}
	return text
}

// telling returns the error of the span and the attributes that are not in its name, in one
// line.
func (s Span) telling() string {
	var parts []string
	if s.Status != "" {
		parts = append(parts, "error: "+termtext.OneLine(s.Status))
	}
	for _, a := range s.Attributes {
		if !strings.Contains(s.Name, a.Value) {
			parts = append(parts, attributeText(a))
		}
	}
	if s.AttributesOmitted {
		parts = append(parts, "...")
	}
	return strings.Join(parts, "  ")
}
