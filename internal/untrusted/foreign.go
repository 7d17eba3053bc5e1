// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	"bytes"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/wire"
)

// maxText bounds a heap profile as text: decoded it takes up to 30 times as much.
const maxText = 8 << 20

// format is a format of another tool, and how to get a profile instead.
type format struct {
	start  *regexp.Regexp
	remedy string
}

// pprofInstead ends the remedy for formats that several tools write.
const pprofInstead = "record in the pprof format instead, as rbspy and async-profiler can by an option"

// magic are the first bytes of binary formats.
var magic = []struct{ start, remedy string }{
	{"\x1f\x8b", "gzip within gzip: unpack it once, by gunzip"},
	{"PERFILE2", "the perf.data of Linux perf: convert it by perf_to_profile (github.com/google/perf_data_converter)"},
	{"FLR\x00", "a recording of Java Flight Recorder: convert it by async-profiler's jfrconv -o pprof"},
}

// formats are formats of text.
var formats = []format{
	{regexp.MustCompile(`^go 1\.\d+ trace\x00`), "an execution trace of Go: open it by spanprof trace or go tool trace"},
	{regexp.MustCompile(`^\s*\{(?s:.*)"(nodes|timeDeltas|callFrame)"\s*:`), "a .cpuprofile of V8 or Node.js: open it in Chrome's DevTools or speedscope, or record by the npm package @datadog/pprof"},
	{regexp.MustCompile(`^\s*[\[{]`), "JSON: " + pprofInstead},
	{regexp.MustCompile(`^(goroutine profile: total|threadcreate profile: total|--- (mutex|contention|threadcreate)|goroutine \d+ \[|heap profile:|\d+ @ 0x)`), "the text of net/http/pprof: fetch the profile without debug= in the address"},
	{regexp.MustCompile(`^<!doctype html>(?s:.*)<title>spanprof</title>`), "a page of spanprof: open it in a browser"},
	{regexp.MustCompile(`^[^\n;]+(;[^\n;]*)* \d+(\.\d+)?\r?\n`), "folded stacks, the input of flamegraph.pl: " + pprofInstead},
}

// foreign returns what data are if they are not a profile, and how to get one. It returns ""
// for an unknown format.
func foreign(data []byte) string {
	data = data[:min(len(data), 64<<10)]
	for _, m := range magic {
		if bytes.HasPrefix(data, []byte(m.start)) {
			return "it is " + m.remedy
		}
	}
	for _, f := range formats {
		if f.start.Match(data) {
			return "it is " + f.remedy
		}
	}
	if strings.HasPrefix(http.DetectContentType(data), "text/html") {
		return "it is an HTML page, of a login or an error perhaps: fetch it as the server's user, by curl for example"
	}
	return ""
}

// legacyHeap begins the text of heap profiles by Go with debug=1, gperftools and tcmalloc.
var legacyHeap = regexp.MustCompile(`^heap(_v2/\d| profile: )`)

// File decodes a profile as Profile does. Heap profiles as text and CPU profiles of gperftools
// are decoded as by go tool pprof.
// The error for another known format describes it.
func File(data []byte, maxBytes int64) (*profile.Profile, error) {
	p, err := Profile(data, maxBytes)
	if err == nil {
		return p, nil
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var unpackErr error
		if data, unpackErr = wire.Inflate(data, maxBytes); unpackErr != nil {
			return nil, err
		}
	}
	if len(data) <= maxText && (legacyHeap.Match(data) || bytes.HasPrefix(data, make([]byte, 4))) { // CPU profiles of gperftools
		if p, legacyErr := legacy(data); legacyErr == nil {
			return p, nil
		}
	}
	if text := foreign(data); text != "" {
		return nil, errors.New(text)
	}
	return nil, err
}

func legacy(data []byte) (*profile.Profile, error) {
	decoding.Lock()
	defer decoding.Unlock()
	return decode(data, profile.ParseData)
}
