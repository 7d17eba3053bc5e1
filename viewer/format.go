// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// format is the form of an answer.
type format string

const (
	formatHTML  format = "html"
	formatJSON  format = "json"
	formatText  format = "text"
	formatPprof format = "pprof"
)

func parseFormat(name string, fallback format) (format, error) {
	switch f := format(name); f {
	case "":
		return fallback, nil
	case formatHTML, formatJSON, formatText, formatPprof:
		return f, nil
	}
	return "", badRequestf("unknown format %q: known are html, json, text and pprof", name)
}
