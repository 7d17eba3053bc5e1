// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"io"
	"runtime/debug"
	"time"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Option configures Handler. A nil Option does nothing.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	flush   func(context.Context) error
	status  func() Status
	hosts   []string
	program answer.Program
	// running lists what runs now; nil if the viewer has no such page.
	running func(now time.Time) []answer.Root
	// leaks writes the leaked goroutines; nil if the program cannot find them.
	leaks func(io.Writer) error
}

func newConfig(opts []Option) (c config) {
	for _, opt := range opts {
		if opt != nil {
			c = opt.apply(c)
		}
	}
	return c
}

// WithFlush sets the function that a POST to flush calls, and shows a button for it.
// f closes the open window: when it returns, the window's samples are in the store.
// By default there is no such button.
//
// The context is the request's. f must be safe for concurrent use.
func WithFlush(f func(context.Context) error) Option {
	return optionFunc(func(c config) config {
		c.flush = f
		return c
	})
}

// WithStatus sets the function that returns the state of the profiler. By default
// the viewer shows none.
//
// f is called for every request for data and must be safe for concurrent use.
func WithStatus(f func() Status) Option {
	return optionFunc(func(c config) config {
		c.status = f
		return c
	})
}

// WithAllowedHosts adds host names under which the viewer answers, without port:
// "debug.example.com". "*" allows every name, which is safe only behind an
// authenticating proxy.
//
// By default only loopback names are allowed: localhost, *.localhost and the
// loopback addresses. Otherwise a web page could read profiles through a name that
// it resolves to this machine (DNS rebinding).
func WithAllowedHosts(hosts ...string) Option {
	return optionFunc(func(c config) config {
		for _, host := range hosts {
			c.hosts = append(c.hosts, hostname(host))
		}
		return c
	})
}

// SourceCode is where the source code of the profiled program is.
type SourceCode struct {
	// Build is the build information of the program, such as of debug.ReadBuildInfo. Its
	// module versions and its VCS revision select the version of a file. By default only
	// files with a version in their paths have links, as files of the module cache have.
	Build *debug.BuildInfo
	// URL is a template for files outside the standard library: {module}, {version},
	// {path} and {line} are replaced. By default links lead to GitHub and pkg.go.dev.
	URL string
	// Directory has the source of the main module. The page shows lines of its Go and
	// assembly files to everybody with access to the viewer. By default it shows none.
	Directory string
}

// WithSourceCode sets where the source code of the profiled program is. The page links the
// lines of functions to it. By default nothing is known of the program.
func WithSourceCode(code SourceCode) Option {
	return optionFunc(func(c config) config {
		c.program.Code = answer.Code(code)
		return c
	})
}
