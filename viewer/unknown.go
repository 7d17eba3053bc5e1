// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"maps"
	"net/url"
	"slices"
)

// knownParams are the parameters of all pages: one that is of no use on a page does no harm
// there, for the pages link to each other with what they were asked for.
var knownParams = []string{
	"query", "from", "until", "format", "labels",
	"leftQuery", "leftFrom", "leftUntil", "leftSearch", "leftZoom", "rightQuery", "rightFrom", "rightUntil",
	"name", "filter", "service", "trace", "below", "attribute", "error", "flat", "order", "limit", "min", "max", "by", "since", "dir", "text",
	"function", "view", "zoom", "search", "sort", "per", "package", "file", "line",
}

// unknown returns the names of the parameters that no page knows, in alphabetical order. One
// that is misspelt would otherwise be ignored in silence.
func unknown(params url.Values) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(params) {
			if !slices.Contains(knownParams, name) && !yield(name) {
				return
			}
		}
	})
}
