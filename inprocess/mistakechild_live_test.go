// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/internal/selfcheck"
)

// mistakeVariable names, in the environment, the mistake that a process is to make.
const mistakeVariable = "SPANPROF_TEST_MISTAKE"

func init() { children[mistakeVariable] = makeMistake }

// makeMistake is the main function of a process that makes a mistake. It prints the
// findings of its page.
func makeMistake(name string) {
	selfcheck.EnoughCPU = 10 * time.Millisecond // one sample
	p := &program{Context: context.Background()}
	i := slices.IndexFunc(mistakes, func(m mistake) bool { return m.what == name })
	if name == healthy {
		p.start(wrapped())
		p.serve(otel.Tracer("shop"), 200)
	} else {
		mistakes[i].run(p)
	}
	_ = p.flush(p)                   // some destinations fail
	ask(p.page, "http://localhost/") // the first request for a page that lists itself
	fmt.Print(ask(p.page, "http://localhost/log?format=json"))
	_ = p.end(p)
	reporttest.Settle()
}

// healthy is a program without a mistake.
const healthy = "none"
