// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
)

// Code has the fields of viewer.SourceCode. The zero value links only files with a version in
// their paths.
type Code struct {
	Build     *debug.BuildInfo
	URL       string
	Directory string
}

// place is a file of a module: Version is a tag, a revision or a version of Go.
type place struct{ module, version, path string }

// standard is the module of the standard library and of the runtime.
const standard = "std"

var (
	inCache = regexp.MustCompile(`^(?:.*/pkg/mod/)?([^@]+)@(v[^/]+)/(.+)$`)
	pseudo  = regexp.MustCompile(`[.-][0-9]{14}-([0-9a-f]{12})$`)
	escaped = regexp.MustCompile(`![a-z]`) // a capital letter in the module cache
	major   = regexp.MustCompile(`/v[0-9]+$`)
)

// place returns the place of a file by the package of its function. It is zero if unknown.
func (c *Code) place(pkg, file string) place {
	file = strings.ReplaceAll(file, `\`, "/")
	base := path.Base(file)
	if m := inCache.FindStringSubmatch(file); m != nil && m[1] != "golang.org/toolchain" {
		module := escaped.ReplaceAllStringFunc(m[1], func(c string) string { return strings.ToUpper(c[1:]) })
		return place{module, m[2], m[3]}
	}
	if c.Build == nil || pkg == "" || path.Ext(file) == "" {
		return place{}
	}
	pkg = strings.ReplaceAll(pkg, "%2e", ".") // Symbols escape the dots of the last element.
	if pkg == "main" {
		pkg = c.Build.Path
	}
	if p, ok := within(&c.Build.Main, pkg, base); ok {
		for _, s := range c.Build.Settings {
			if s.Key == "vcs.revision" {
				p.version = s.Value
			}
		}
		return p
	}
	var found place
	for _, m := range c.Build.Deps {
		if p, ok := within(m, pkg, base); ok && len(p.module) > len(found.module) {
			found = p
		}
	}
	first, _, _ := strings.Cut(pkg, "/")
	if version, _, _ := strings.Cut(c.Build.GoVersion, " "); found.module == "" && !strings.Contains(first, ".") && strings.HasPrefix(version, "go") {
		return place{standard, version, "src/" + pkg + "/" + base}
	}
	return found
}

// within returns the place of a file in a module with this package.
func within(m *debug.Module, pkg, base string) (place, bool) {
	dir, ok := strings.CutPrefix(pkg+"/", m.Path+"/")
	if !ok || m.Path == "" {
		return place{}, false
	}
	module, version := m.Path, m.Version
	if m.Replace != nil {
		module, version = m.Replace.Path, m.Replace.Version
	}
	if version == "(devel)" {
		version = ""
	}
	return place{module, version, dir + base}, true
}

// url returns the address of a file, with {line} where the line belongs; "" if unknown.
func (c *Code) url(pkg, file string) string {
	p := c.place(pkg, file)
	if p.version == "" {
		return ""
	}
	if c.URL != "" && p.module != standard {
		return strings.NewReplacer("{module}", p.module, "{version}", p.version, "{path}", p.path).Replace(c.URL)
	}
	version := strings.TrimSuffix(p.version, "+incompatible")
	if m := pseudo.FindStringSubmatch(version); m != nil {
		version = m[1]
	}
	repository, folder := p.module, ""
	if name, ok := strings.CutPrefix(p.module, "golang.org/x/"); ok {
		repository = "github.com/golang/" + name
	}
	if p.module == standard {
		repository = "github.com/golang/go"
	}
	if !strings.HasPrefix(repository, "github.com/") {
		return fmt.Sprintf("https://pkg.go.dev/%s@%s/%s#section-sourcefiles", p.module, p.version, path.Dir(p.path))
	}
	parts := strings.SplitN(major.ReplaceAllString(repository, ""), "/", 4)
	if len(parts) == 4 {
		folder = parts[3] + "/"
		if strings.HasPrefix(version, "v") {
			version = folder + version // Tags of a nested module begin with its folder.
		}
	}
	return "https://" + path.Join(parts[:min(3, len(parts))]...) + "/blob/" + version + "/" + folder + p.path + "#L{line}"
}

// SourceText is a part of a file of the main module.
type SourceText struct {
	File string `json:"file"`
	// First is the number of the first line.
	First int      `json:"first"`
	Lines []string `json:"lines"`
}

const (
	// linesAround is the number of lines before and after the one in question.
	linesAround = 3
	// maxSource bounds the bytes of a file.
	maxSource = 4 << 20
)

// Source returns the lines around one line of a file. It reads only the main module in
// c.Directory.
func (c *Code) Source(pkg, file string, line int) (*SourceText, error) {
	if c.Directory == "" {
		return nil, BadRequestf("this viewer shows no source text: set the directory of viewer.WithSourceCode")
	}
	p := c.place(pkg, file)
	if c.Build == nil || p.module == "" || p.module != c.Build.Main.Path {
		return nil, BadRequestf("%s is outside the main module", path.Base(file))
	}
	unread := BadRequestf("the source directory has no such file or line: %s:%d", p.path, line)
	root, err := os.OpenRoot(c.Directory)
	if err != nil {
		return nil, unread
	}
	defer root.Close() //nolint:errcheck // it was read
	if info, err := root.Stat(p.path); err != nil || !info.Mode().IsRegular() || path.Ext(p.path) != ".go" && path.Ext(p.path) != ".s" {
		return nil, unread
	}
	f, err := root.Open(p.path)
	if err != nil {
		return nil, unread
	}
	defer f.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	if err != nil || len(body) > maxSource || line < 1 || line > len(lines) {
		return nil, unread
	}
	first := max(1, line-linesAround)
	return &SourceText{File: p.path, First: first, Lines: lines[first-1 : min(len(lines), line+linesAround)]}, nil
}
