// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"path"
	"strings"
)

// pkg returns the package of a function: what its name has up to the first dot after the
// last slash. The name of an assembly function that only assembly calls, such as
// indexbytebody, has none: then it is the directory of the file, "" if unknown.
func (f *function) pkg() string {
	name := f.name
	if cut := strings.IndexAny(name, "[({ "); cut >= 0 {
		name = name[:cut] // Type parameters may hold slashes of their own.
	}
	slash := strings.LastIndexByte(name, '/')
	if dot := strings.IndexByte(name[slash+1:], '.'); dot >= 0 {
		return name[:slash+1+dot]
	}
	if path.Ext(f.file) != ".s" {
		return ""
	}
	dir := path.Dir(strings.ReplaceAll(f.file, `\`, "/"))
	for _, root := range []string{"/src/", "/pkg/mod/"} {
		if i := strings.LastIndex(dir, root); i >= 0 {
			return dir[i+len(root):]
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}

// qualified returns the name of a function with the package that its file is in, where the
// name has none.
func (f *function) qualified() string {
	pkg := f.pkg()
	if pkg == "" || strings.HasPrefix(f.name, pkg) {
		return f.name
	}
	return pkg + "." + f.name
}
