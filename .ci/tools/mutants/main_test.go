// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted has no mutant that does not build, so all numbers are certain.
var planted = map[string]string{
	"go.mod": "module example.com/planted\n\ngo 1.26.0\n",
	"code.go": `package planted

func Less(a, b int) bool { return a < b }

func Sum(a, b int) int { return a + b }
`,
	"code_test.go": `package planted

import "testing"

func Test(t *testing.T) {
	if !Less(1, 2) || Sum(1, 2) != 3 {
		t.Fail()
	}
}
`,
	"loop/loop.go": `package loop

func Emptied(n int) bool {
	for n > 0 {
		n--
	}
	return n == 0
}
`,
	"loop/user/user_test.go": `package user

import (
	"testing"

	"example.com/planted/loop"
)

func Test(t *testing.T) {
	if !loop.Emptied(3) {
		t.Fail()
	}
}
`,
	"broken/broken.go":      "package broken\n\nfunc One() int { return 1 }\n",
	"broken/broken_test.go": "package broken\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { t.Fail() }\n",
}

func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range planted {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	mutants := filepath.Join(dir, "mutants")
	if out, err := exec.Command("go", "build", "-o", mutants, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const survivor = "survived code.go:3: < to <= in Less: func Less(a, b int) bool { return a < b }\n"
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{".", 0, "seed 1\n" + survivor + ".: killed 1, survived 1, timed out 0\n"},
		{"-timeout 2s ./loop/...", 0, "timed out loop/loop.go:5: removed statement in Emptied: n--\n" +
			"./loop/...: killed 4, survived 0, timed out 1\n"},
		{"./loop", 2, "not judged example.com/planted/loop: "},
		{"./broken", 2, "tests fail without a mutant"},
		{"./broken .", 2, survivor},
	} {
		t.Run(test.args, func(t *testing.T) {
			cmd := exec.Command(mutants, append([]string{"-seed", "1", "-n", "9"}, strings.Fields(test.args)...)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "TMPDIR="+t.TempDir())
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(out), test.want) {
				t.Errorf("exit code %d, want %d; got\n%swant\n%s", code, test.code, out, test.want)
			}
			if left, err := os.ReadDir(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR=")); len(left) > 0 || err != nil {
				t.Errorf("temporary files stay: %v, %v", left, err)
			}
		})
	}
}
