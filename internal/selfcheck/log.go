// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck

import (
	"fmt"
	"slices"
	"sync"
)

// Log remembers what was said. The zero value is ready to use, by several goroutines.
type Log struct{ said sync.Map }

// News returns what is wrong for certain, that nobody has reported and that News has not
// returned before: each finding once, and one of [Unlabelled].
func (l *Log) News(found []Finding) []error {
	var news []error
	for _, f := range found {
		if f.Severity != Wrong || !f.Certain || f.Reported {
			continue
		}
		about := f.ID
		if slices.Contains(Unlabelled, f.ID) {
			// One mistake: which of these is found changes when a wrapper is collected.
			about = ProviderNotWrapped
		}
		if _, said := l.said.LoadOrStore(about, true); !said {
			news = append(news, fmt.Errorf("self-check %s: %s", f.ID, f.Text()))
		}
	}
	return news
}
