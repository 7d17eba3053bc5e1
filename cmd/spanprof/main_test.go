// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

// spanprof runs the command as from a shell.
func spanprof(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{}, exitFailed, "", "Usage: spanprof COMMAND"},
		{[]string{"help"}, exitDone, "Exit codes: 0 done", ""},
		{[]string{"pog"}, exitFailed, "", `there is no command "pog"`},
		{[]string{"help"}, exitDone, "$ spanprof record -o recordings", ""},
		{[]string{"help", "diff"}, exitDone, "$ spanprof diff v1 v2", ""},
		{[]string{"record", "-ot", "x"}, exitFailed, "", `-ot; "spanprof record -help" lists the flags`},
		{[]string{"record", "-o", "x", "127.0.0.1:6060"}, exitFailed, "", "an address begins with http:// or https://"},
		{[]string{"pgo", "-o", "x", "127.0.0.1:6060"}, exitFailed, "", "an address begins with pyroscope+http://"},
	} {
		code, stdout, stderr := spanprof(t, test.args...)
		if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
			t.Errorf("spanprof %q: code %d, stdout %q, stderr %q", test.args, code, stdout, stderr)
		}
	}
}
