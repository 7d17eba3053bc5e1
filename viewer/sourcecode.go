// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"runtime/debug"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

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
		c.code = answer.Code(code)
		return c
	})
}
