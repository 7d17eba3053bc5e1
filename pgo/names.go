// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"regexp"
	"strings"
)

// Reason says why a function of a profile is not in an executable.
type Reason int

const (
	// Gone functions have no trace in the executable: removed, renamed, or called
	// by nothing any more.
	Gone Reason = iota
	// Moved functions have left their package, and one of the same name is in another
	// package of that name: most likely the same, in another directory or version.
	Moved
	// Instance says that the generic function has no instance for these types any
	// more, but one for others.
	Instance
	// Closure says that the function has no such closure any more. The compiler
	// numbers closures, and names them by the function that they are inlined in.
	Closure
)

func (r Reason) String() string {
	return [...]string{"gone", "moved", "no such instance", "no such closure"}[r]
}

// functions are the functions of an executable.
type functions struct {
	names map[string]struct{}
	// generic has the names without their type arguments, local those without the
	// directories of their packages.
	generic map[string]struct{}
	local   map[string][]string
}

func newFunctions(names map[string]struct{}) functions {
	f := functions{names: names, generic: make(map[string]struct{}), local: make(map[string][]string)}
	for name := range names {
		if plain := withoutTypes(name); plain != name {
			f.generic[plain] = struct{}{}
		}
		key := localName(name)
		f.local[key] = append(f.local[key], name)
	}
	return f
}

// find reports whether the executable has the function, else why not, and by which
// name there may be something in its place.
func (f functions) find(name string) (ok bool, why Reason, now string) {
	if f.has(name) {
		return true, 0, ""
	}
	plain := withoutTypes(name)
	if _, ok := f.generic[plain]; ok {
		// Some profilers leave types out, and then any instance is the one.
		return plain == name, Instance, plain
	}
	if outer, ok := f.outer(plain); ok {
		return false, Closure, outer
	}
	if same := f.local[localName(name)]; len(same) == 1 {
		return false, Moved, same[0]
	}
	return false, Gone, ""
}

func (f functions) has(name string) bool {
	_, ok := f.names[name]
	return ok
}

// closure ends the names of closures, wrappers for go and defer statements, bodies
// of loops over functions, and method values.
var closure = regexp.MustCompile(`(\.(func|gowrap|deferwrap)\d+|\.\d+|-range\d+|-fm)+$`)

// outer returns the function in which the closure stands, or in which the function
// around it was inlined: then its name is that of both, as in main.outer.inlined.func1.
func (f functions) outer(name string) (string, bool) {
	outer := closure.ReplaceAllString(name, "")
	if outer == name {
		return "", false
	}
	first := strings.LastIndexByte(outer, '/') + 1
	for {
		_, generic := f.generic[outer]
		if generic || f.has(outer) {
			return outer, true
		}
		dot := strings.LastIndexByte(outer, '.')
		if dot <= first+strings.IndexByte(outer[first:], '.') {
			return "", false
		}
		outer = outer[:dot]
	}
}

// withoutTypes replaces type arguments by three dots, as in main.Map[...].func1.
func withoutTypes(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch r {
		case '[':
			if depth == 0 {
				b.WriteString("[...")
			}
			depth++
		case ']':
			depth = max(depth-1, 0)
		}
		if depth == 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// majorVersion is the last element of an import path that is not the package's name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// localName leaves out what a move changes: the directories before a package's own,
// a vendor directory and the major version.
func localName(name string) string {
	types := strings.IndexByte(name, '[')
	if types < 0 {
		types = len(name)
	}
	slash := strings.LastIndexByte(name[:types], '/') + 1
	dirs, local := name[:slash], name[slash:]
	pkg, function, _ := strings.Cut(local, ".")
	if majorVersion.MatchString(pkg) && dirs != "" {
		pkg = dirs[strings.LastIndexByte(dirs[:len(dirs)-1], '/')+1 : len(dirs)-1]
	}
	pkg, _, _ = strings.Cut(pkg, "%2e") // gopkg.in/yaml.v3, as the linker writes it
	return pkg + "." + withoutTypes(function)
}
