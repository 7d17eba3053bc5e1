// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/internal/selfcheck"
)

// mistakeVariable is the environment variable with the name of a program.
const mistakeVariable = "SPANPROF_TEST_MISTAKE"

func init() { children[mistakeVariable] = makeMistake }

// makeMistake is the main function of a process with a mistake. It prints the answer of
// its page, and the one to the mistake's query.
func makeMistake(name string) {
	selfcheck.EnoughCPU = 10 * time.Millisecond // one sample
	p := &program{Context: context.Background()}
	run := healthy[name]
	if i := slices.IndexFunc(mistakes, func(m mistake) bool { return m.what == name }); i >= 0 {
		run = mistakes[i].run
	}
	run(p)
	must(p.flush(p))
	fmt.Println(ask(p.page, "http://localhost/log?format=json"))
	if p.query != "" {
		fmt.Println(ask(p.page, "http://localhost/?"+url.Values{"format": {"json"}, "query": {p.query}}.Encode()))
	}
	_ = p.end(p)
	reporttest.Settle()
}

// healthy are programs without a mistake.
var healthy = map[string]func(*program){
	"as documented": func(p *program) {
		p.start(wrapped())
		p.serve(otel.Tracer("shop"), 200)
	},
	"a reload with the store's processor on the new provider": func(p *program) {
		old := wrapped()
		profiling := p.start(old)
		p.serve(otel.Tracer("shop"), 200)
		must(old.Shutdown(p))
		wrapped().RegisterSpanProcessor(profiling.Store().SpanProcessor())
		p.serve(otel.Tracer("shop"), 200)
	},
	"the provider is shut down before profiling": func(p *program) {
		tp := wrapped()
		p.start(tp)
		p.serve(otel.Tracer("shop"), 200)
		must(tp.Shutdown(p))
	},
}
