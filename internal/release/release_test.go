// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	modmodule "golang.org/x/mod/module"
)

const testVersion = "v0.1.0"

// A release of this checkout, served as a module proxy serves it, can be used from
// outside the repository.
func TestReleaseCanBeConsumed(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles five programs")
	}
	top := checkout(t)
	if err := prepare(top, testVersion); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB="+root+","+root+"/*",
		"GOPROXY=file://"+filepath.ToSlash(layOut(t, top))+","+goEnv(t, "GOPROXY"), "GOMODCACHE="+ownCache(t))

	for _, scratch := range []struct {
		name, module, program string
		maxModules            int // that its packages come from, its own and this project's left out; 0 for any number
	}{
		{"root alone", root, `package main

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	p, err := inprocess.Start(spanprof.NewTracerProvider(sdktrace.NewTracerProvider()))
	if err != nil {
		panic(err)
	}
	_ = p
}
`, 13},
		{"OTLP over HTTP", root + "/exporter/otlp", `package main

import "github.com/spanprof/spanprof/exporter/otlp"

func main() { _, _ = otlp.New() }
`, 0},
		{"OTLP over gRPC", root + "/exporter/otlp/otlpgrpc", `package main

import "github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"

func main() { _, _ = otlpgrpc.New() }
`, 0},
	} {
		t.Run(scratch.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "main.go"), scratch.program)
			write(t, filepath.Join(dir, "go.mod"), "module example.com/scratch\n\ngo 1.26.0\n")
			command(t, dir, environment, "go", "get", scratch.module+"@"+testVersion)
			command(t, dir, environment, "go", "mod", "tidy")
			command(t, dir, environment, "go", "build", "-o", os.DevNull, ".")
			listed := strings.Fields(command(t, dir, environment, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
			slices.Sort(listed)
			used := slices.DeleteFunc(slices.Compact(listed), func(path string) bool { return isSibling(path) || path == "example.com/scratch" })
			t.Logf("%d modules: %s", len(used), strings.Join(used, " "))
			if scratch.maxModules > 0 && len(used) > scratch.maxModules {
				t.Errorf("%d modules, want at most %d", len(used), scratch.maxModules)
			}
		})
	}
	t.Run("the command", func(t *testing.T) {
		dir := t.TempDir()
		command(t, dir, append(environment, "GOBIN="+dir), "go", "install", root+"/cmd/spanprof@"+testVersion)
		program := filepath.Join(dir, "spanprof"+goEnv(t, "GOEXE"))
		if out := command(t, dir, environment, program, "help"); !strings.Contains(out, "Usage: spanprof COMMAND") {
			t.Errorf("spanprof help prints\n%s", out)
		}
		// What Go has written into the program: the command's module, then the
		// modules of its packages, and no replacement.
		var used []string
		built := command(t, dir, environment, "go", "version", "-m", program)
		for line := range strings.Lines(built) {
			switch fields := strings.Fields(line); fields[0] {
			case "mod":
				if got, want := fields[1]+"@"+fields[2], root+"/cmd/spanprof@"+testVersion; got != want {
					t.Errorf("the program is %s, want %s", got, want)
				}
			case "dep":
				if isSibling(fields[1]) {
					continue
				}
				used = append(used, fields[1])
				if slices.ContainsFunc([]string{"google.golang.org/grpc", "go.opentelemetry.io/collector"}, func(heavy string) bool { return strings.HasPrefix(fields[1], heavy) }) {
					t.Errorf("the command depends on %s", fields[1])
				}
			case "=>":
				t.Errorf("the program has a replacement: %s", line)
			}
		}
		t.Logf("%s/cmd/spanprof %s with %d modules of others: %s", root, testVersion, len(used), strings.Join(used, " "))
		if len(used) == 0 || len(used) > 13 {
			t.Errorf("%d modules, want at most 13", len(used))
		}
	})
	t.Run("quickstart", func(t *testing.T) {
		dir := t.TempDir()
		command(t, dir, append(environment, "GOBIN="+dir), "go", "install", root+"/examples/quickstart@"+testVersion)
		program := filepath.Join(dir, "quickstart"+goEnv(t, "GOEXE"))
		out := command(t, dir, environment, program, "-listen", "127.0.0.1:0", "-duration", "10s")
		if !regexp.MustCompile(`(?m)^[1-9]\d* spans ended; `).MatchString(out) {
			t.Errorf("the quickstart prints\n%s", out)
		}
	})
}

// A release has all modules except the ones for tests and tools, in the workspace or outside.
func TestModulesAreThoseOfTheRepository(t *testing.T) {
	var want []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case file != "." && entry.IsDir() && (strings.HasPrefix(name, ".") || file == "internal"):
			return fs.SkipDir
		case name == "go.mod":
			want = append(want, path.Dir(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range modules {
		got = append(got, string(m))
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("modules are %v, those of the repository %v", got, want)
	}
}

func TestPrepareRefusesWhatIsNoVersion(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v1", "latest", "v0.1.0+meta"} {
		if err := prepare(t.TempDir(), version); err == nil || !strings.Contains(err.Error(), "is no version") {
			t.Errorf("prepare(%q) = %v", version, err)
		}
	}
}

// checkout returns a copy of the tracked files, with uncommitted changes.
func checkout(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	list := command(t, "../..", os.Environ(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(top, name), string(data))
	}
	return top
}

// layOut writes the modules of a checkout in the layout of a module proxy and
// returns its directory.
func layOut(t *testing.T, top string) string {
	t.Helper()
	proxy := t.TempDir()
	for _, m := range modules {
		escaped, err := modmodule.EscapePath(m.path())
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(proxy, escaped, "@v")
		source := filepath.Join(top, string(m))
		mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "list"), testVersion+"\n")
		write(t, filepath.Join(dir, testVersion+".info"), `{"Version":"`+testVersion+`"}`)
		write(t, filepath.Join(dir, testVersion+".mod"), string(mod))
		var zipped bytes.Buffer
		if err := writeZip(&zipped, m, source, testVersion); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, testVersion+".zip"), zipped.String())
	}
	return proxy
}

// ownCache returns a module cache that has everything but this project: the
// version under test is not the same from one run to the next.
func ownCache(t *testing.T) string {
	t.Helper()
	cache, own := goEnv(t, "GOMODCACHE"), t.TempDir()
	// The downloads are shared, the unpacked modules are not.
	if err := os.MkdirAll(filepath.Join(own, "cache", "download"), 0o755); err != nil {
		t.Fatal(err)
	}
	downloads := filepath.Join(cache, "cache", "download")
	err := filepath.WalkDir(downloads, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(downloads, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if filepath.ToSlash(name) == "github.com/spanprof" {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(own, "cache", "download", name), 0o755)
		}
		if strings.HasSuffix(name, ".lock") {
			return nil
		}
		return os.Link(path, filepath.Join(own, "cache", "download", name))
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return own
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(command(t, ".", os.Environ(), "go", "env", name))
}

// command runs a program and returns its standard output; what goes to standard
// error is logged.
func command(t *testing.T, dir string, environment []string, name string, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environment, &out, &log
	err := cmd.Run()
	for s := bufio.NewScanner(&log); s.Scan(); {
		t.Log(s.Text())
	}
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &out)
	}
	return out.String()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
