// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file of the public names")

// golden has the packages of each golden file.
var golden = map[string][]string{
	"testdata/api.txt":              {"."},
	"testdata/api_exporter.txt":     {"exporter", "exporter/file", "exporter/meter", "exporter/otlp", "exporter/otlp/otlpgrpc", "exporter/pyroscope"},
	"testdata/api_profiler.txt":     {"profiler"},
	"testdata/api_spanproftest.txt": {"spanproftest"},
	"testdata/api_profhttp.txt":     {"profhttp"},
	"testdata/api_inprocess.txt":    {"inprocess"},
}

// TestPublicNames compares the public names with the golden files.
func TestPublicNames(t *testing.T) {
	for file, packages := range golden {
		var got []string
		for _, dir := range packages {
			if len(packages) > 1 {
				got = append(got, "package "+dir)
			}
			got = append(got, publicNames(t, dir)...)
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got), for a wanted change run go test -run TestPublicNames -update:\n%s", file, diff)
		}
	}
}

// publicNames returns a line for each name of a package, sorted.
func publicNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil && !token.IsExported(strings.TrimPrefix(types.ExprString(decl.Recv.List[0].Type), "*")) {
					continue
				}
				decl.Doc, decl.Body = nil, nil
				var b strings.Builder
				if err := printer.Fprint(&b, fset, decl); err != nil {
					t.Fatal(err)
				}
				names = append(names, b.String())
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names = append(names, "type "+spec.Name.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names = append(names, decl.Tok.String()+" "+name.Name)
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
