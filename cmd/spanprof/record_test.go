// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"testing"
)

// As a test's child, the test's program is the command or a service.
func TestMain(m *testing.M) {
	switch role, arg, _ := strings.Cut(os.Getenv("SPANPROF_TEST_AS"), " "); role {
	case "command":
		main()
	case "service":
		mux := http.NewServeMux()
		pprofHandlers(mux)
		fmt.Fprintln(os.Stderr, http.ListenAndServe(arg, mux))
		os.Exit(1)
	default:
		os.Exit(m.Run())
	}
}

func pprofHandlers(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
}

func TestRecordUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"http://localhost"}, "-o DIR is missing"},
		{[]string{"-o", "d"}, "name one address or more"},
		{[]string{"-o", "d", "-for", "1ms", "http://localhost"}, "at least a second"},
		{[]string{"-o", "d", "-for", "9000h", "http://localhost"}, "at most a year"},
		{[]string{"http://localhost", "-o", "d"}, "-o stands after an argument: flags come first"},
		{[]string{"-o", "main.go", "http://localhost"}, "record: -o main.go: "},
		{[]string{"-o", "d", "-max-bytes", "0", "http://localhost"}, "leaves no room"},
		{[]string{"-o", "d", "-label", "x", "http://localhost"}, "KEY=VALUE"},
		{[]string{"-o", "d", "-label", "service.instance.id=a", "http://a", "http://b"}, "names one process"},
		{[]string{"-o", "d", "http://a", "http://a/debug/pprof/"}, "there twice"},
		{[]string{"-o", "d", "http://a/debug/spanprof/"}, "ends in /debug/pprof/"},
		{[]string{"-o", "d", "http://a/debug/pprof/heap"}, "ends in /debug/pprof/"},
		{[]string{"-o", "d", "http://a/debug/pprof/?seconds=9"}, "ends in /debug/pprof/"},
		{[]string{"-o", "d", "http://u:secret@a/"}, "SPANPROF_USER"},
	} {
		code, _, stderr := spanprof(t, append([]string{"record"}, test.args...)...)
		if code != exitFailed || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret") {
			t.Errorf("record %q: code %d, stderr %q", test.args, code, stderr)
		}
	}
}
