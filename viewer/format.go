// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// format is the form of an answer.
type format string

const (
	formatHTML format = "html"
	formatJSON format = "json"
	formatText format = "text"
	// formatFolded is what flamegraph.pl and speedscope read.
	formatFolded format = "folded"
	formatPprof  format = "pprof"
)

func parseFormat(name string, fallback format) (format, error) {
	switch f := format(name); f {
	case "":
		return fallback, nil
	case formatHTML, formatJSON, formatText, formatFolded, formatPprof:
		return f, nil
	}
	return "", badRequestf("unknown format %q: known are html, json, text, folded and pprof", name)
}
