// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/selfcheck"
)

// checkEvery is the time between two self-checks for the log.
const checkEvery = 10 * time.Second

// logged has the findings that went to otel.Handle: each once in a process.
var logged selfcheck.Log

func (p *Profiling) facts() *selfcheck.Facts {
	return selfcheck.Collect(p.profiler, p.store, p.tp != nil)
}

// watch runs a self-check for the log now and then until ctx ends.
func (p *Profiling) watch(ctx context.Context) {
	goruntime.ClearLabels() // of a span that is open at Start
	for ticker := time.NewTicker(checkEvery); ; {
		select {
		case <-ticker.C:
			p.checkLog()
		case <-ctx.Done():
			ticker.Stop()
			return
		}
	}
}

// checkLog gives new certain mistakes to otel.Handle.
func (p *Profiling) checkLog() {
	found, _ := selfcheck.Run(p.facts())
	for _, err := range logged.News(found) {
		p.reporter.Report(fmt.Errorf("inprocess: %w", err))
	}
}
