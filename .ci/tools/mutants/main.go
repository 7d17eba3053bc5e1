// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Mutants judges tests by mutants: small changes of the code that a test should fail for.
// It runs from the root of the repository:
//
//	mutants [-seed N] [-n 200] [-p 2] [-timeout 60s] [-equivalent FILE] ROOM...
//
// A room is a directory pattern, such as ./store/..., with packages of one module. Tests of
// a package judge its mutants. A package without tests is judged by its nearest importers
// in the room. A mutant is killed if a test fails. It is listed if it survives or if the
// tests time out. The exit code is 2 on misuse, and if a room's tests fail without a mutant.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

const (
	killed, survived, equivalent, timedOut, doesNotBuild = "killed", "survived", "equivalent", "timed out", "does not build"

	buildTime   = 30 * time.Second // what a mutant has beside the timeout of its tests
	outputLimit = 4 << 20          // for mutants that print without end
	// dataLimit is for endless loops that allocate. The address space has no limit, as
	// browsers reserve more than there is memory.
	dataLimit = 4 << 30
)

var (
	seed     = flag.Uint64("seed", 0, "draw the same mutants again; 0: a random seed")
	number   = flag.Int("n", 200, "mutants of each room")
	parallel = flag.Int("p", 2, "mutants at the same time")
	timeout  = flag.Duration("timeout", time.Minute, "timeout of a package's tests")
	excused  = flag.String("equivalent", ".ci/mutants.equivalent", "file of mutants that no test can fail for")

	root, work  string            // the working directory and one of temporary files
	equivalents map[string]string // a mutant's key: the reason

	excuse      = regexp.MustCompile(`^([^:\s]+):\d+: ([^\t]+)\t(\S.*)$`)
	buildFailed = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]$`)
	tooLong     = regexp.MustCompile(`(?m)^(panic: test timed out after|\*\*\* Test killed)`)

	swaps = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
		token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK,
	}
)

type room struct {
	dir string
	env []string
}

type pkg struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	judges                             []string
}

type mutant struct {
	in                                    *pkg
	file, path, mutation, source, outcome string
	line, start, end                      int
	code                                  []byte
	text                                  string // in place of the code from start to end
}

// key has no line number, so that code above may change.
func (m *mutant) key() string { return m.path + ": " + m.mutation + ": " + m.source }

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 2
	}
	stop()
	os.Exit(code)
}

func run(ctx context.Context) (code int, err error) {
	if flag.NArg() == 0 || *number < 1 || *parallel < 1 || *timeout <= 0 {
		return 0, errors.New("at least one room, and -n, -p and -timeout above zero")
	}
	limit := syscall.Rlimit{Cur: dataLimit, Max: dataLimit}
	err = errors.Join(readEquivalents(), syscall.Setrlimit(syscall.RLIMIT_DATA, &limit))
	var dirErr, workErr error
	root, dirErr = os.Getwd()
	work, workErr = os.MkdirTemp("", "mutants")
	defer func() { _ = os.RemoveAll(work) }()
	if err := errors.Join(err, dirErr, workErr); err != nil {
		return 0, err
	}
	for *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Println("seed", *seed)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	for _, name := range flag.Args() {
		n, err := judge(ctx, name)
		if ctx.Err() != nil {
			return 2, ctx.Err()
		} else if err != nil {
			fmt.Fprintf(os.Stderr, "mutants: %s: %v\n", name, err)
			code = 2
			continue // a night's work on other rooms is not lost
		}
		row := fmt.Sprintf("%s:\tkilled %d,\tsurvived %d\t(%d equivalent),\ttimed out %d\n",
			name, n[killed], n[survived]+n[equivalent], n[equivalent], n[timedOut])
		fmt.Print(strings.ReplaceAll(row, "\t", " "))
		fmt.Fprint(table, row)
	}
	fmt.Println()
	return code, table.Flush()
}

func readEquivalents() error {
	data, err := os.ReadFile(*excused)
	if err != nil {
		return err
	}
	equivalents = map[string]string{}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(data), "\n\t", "\t"), "\n") {
		if fields := excuse.FindStringSubmatch(line); fields != nil {
			equivalents[fields[1]+": "+fields[2]] = fields[3]
		} else if line != "" && line[0] != '#' {
			return fmt.Errorf("%s: no mutant with a reason: %s", *excused, line)
		}
	}
	return nil
}

// judge counts mutants by outcome.
func judge(ctx context.Context, name string) (map[string]int, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r, packages, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	var pool []*mutant
	var judges []string
	for _, p := range packages {
		found, err := mutantsOf(p)
		if err != nil {
			return nil, err
		}
		if p.judges = judgesOf(p, packages); len(p.judges) > 0 {
			pool, judges = append(pool, found...), append(judges, p.judges...)
		} else if len(found) > 0 {
			fmt.Printf("not judged %s: no test of the room reaches it\n", p.ImportPath)
		}
	}
	if len(pool) == 0 {
		return nil, errors.New("no mutants")
	}
	slices.Sort(judges)
	if text, err := r.test(ctx, work, slices.Compact(judges)...); err != nil {
		return nil, fmt.Errorf("tests fail without a mutant: %w\n%s", err, text)
	}
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	n, slots := map[string]int{}, make(chan struct{}, *parallel)
	// The next batch replaces what does not build. So a seed draws the same mutants,
	// whatever finishes first.
	for left := *number; left > 0 && len(pool) > 0 && ctx.Err() == nil; {
		batch := pool[:min(left, len(pool))]
		pool = pool[len(batch):]
		var group sync.WaitGroup
		for _, m := range batch {
			slots <- struct{}{}
			group.Go(func() {
				var err error
				if m.outcome, err = r.outcome(ctx, m); err != nil {
					fail(err)
				} else if m.outcome != killed && m.outcome != doesNotBuild {
					fmt.Printf("%s %s:%d: %s: %s\n", m.outcome, m.path, m.line, m.mutation, m.source)
				}
				<-slots
			})
		}
		group.Wait()
		for _, m := range batch {
			n[m.outcome]++
			if m.outcome != doesNotBuild {
				left--
			}
		}
	}
	return n, context.Cause(ctx)
}

func (r *room) outcome(ctx context.Context, m *mutant) (string, error) {
	dir, err := os.MkdirTemp(work, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mutated, overlayFile := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	code := slices.Concat(m.code[:m.start], []byte(m.text), m.code[m.end:])
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: mutated}})
	if err := errors.Join(err, os.WriteFile(mutated, code, 0o600), os.WriteFile(overlayFile, overlay, 0o600)); err != nil {
		return "", err
	}
	for _, judge := range m.in.judges {
		limited, cancel := context.WithTimeout(ctx, *timeout+buildTime)
		text, err := r.test(limited, dir, "-overlay", overlayFile, judge)
		late := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && (late || tooLong.Match(text)):
			return timedOut, nil
		case err != nil && buildFailed.Match(text):
			return doesNotBuild, nil
		case err != nil:
			return killed, nil
		}
	}
	if equivalents[m.key()] != "" {
		return equivalent, nil
	}
	return survived, nil
}

type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > outputLimit {
		t.Next(t.Len() - outputLimit/2)
	}
	return t.Buffer.Write(p)
}

// test gives the tests a directory that is removed, as killed ones leave files.
func (r *room) test(ctx context.Context, temporary string, args ...string) ([]byte, error) {
	var out tail
	args = append([]string{"test", "-p", "1", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", timeout.String()}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = r.dir, append(append(os.Environ(), "TMPDIR="+temporary), r.env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what a test left running
	}
	return out.Bytes(), err
}

func open(ctx context.Context, name string) (*room, []*pkg, error) {
	dir, all := strings.CutSuffix(name, "...")
	r, pattern := &room{dir: filepath.Join(root, dir)}, "."
	if all {
		pattern = "./..."
	}
	list := func() ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", "list", "-json", pattern)
		cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.env...)
		return cmd.Output()
	}
	out, err := list()
	if err != nil {
		r.env = []string{"GOWORK=off"} // for a module outside the workspace
		out, err = list()
	}
	var packages []*pkg
	for d := json.NewDecoder(bytes.NewReader(out)); err == nil && d.More(); {
		packages = append(packages, &pkg{})
		err = d.Decode(packages[len(packages)-1])
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("go list: %w\n%s", err, exit.Stderr)
	}
	return r, packages, err
}

func judgesOf(p *pkg, packages []*pkg) (judges []string) {
	reached := []*pkg{p}
	for i := 0; i < len(reached); i++ {
		if len(reached[i].TestGoFiles)+len(reached[i].XTestGoFiles) > 0 {
			judges = append(judges, reached[i].ImportPath)
			continue
		}
		for _, q := range packages {
			imports := slices.Concat(q.Imports, q.TestImports, q.XTestImports)
			if slices.Contains(imports, reached[i].ImportPath) && !slices.Contains(reached, q) {
				reached = append(reached, q)
			}
		}
	}
	return judges
}

func mutantsOf(p *pkg) (found []*mutant, err error) {
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		path, pathErr := filepath.Rel(root, file)
		code, readErr := os.ReadFile(file)
		files := token.NewFileSet()
		parsed, parseErr := parser.ParseFile(files, file, code, parser.ParseComments|parser.SkipObjectResolution)
		if err := errors.Join(pathErr, readErr, parseErr); err != nil {
			return nil, err
		}
		if ast.IsGenerated(parsed) {
			continue
		}
		at := func(p token.Pos) int { return int(p - parsed.FileStart) }
		lines, within, first := strings.Split(string(code), "\n"), "", len(found)
		add := func(from, to token.Pos, text, mutation string) {
			line := files.PositionFor(from, false).Line
			found = append(found, &mutant{
				in: p, file: file, path: path, mutation: mutation + within, source: strings.TrimSpace(lines[line-1]),
				line: line, start: at(from), end: at(to), code: code,
				text: strings.Replace(text, "OLD", string(code[at(from):at(to)]), 1),
			})
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if within = ""; d.Tok == token.CONST && bytes.Contains(code[at(d.Pos()):at(d.End())], []byte("iota")) {
					continue
				}
			case *ast.FuncDecl:
				within = " in " + d.Name.Name
				if d.Recv != nil {
					within = " in " + strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + d.Name.Name
				}
			}
			ast.Inspect(d, func(n ast.Node) bool { return mutate(n, add) })
		}
		slices.SortStableFunc(found[first:], func(a, b *mutant) int { return cmp.Compare(a.start, b.start) })
		seen := map[string]int{} // one key for two mutants would excuse both
		for _, m := range found[first:] {
			key := m.key()
			if seen[key]++; seen[key] > 1 {
				m.mutation += fmt.Sprintf(" #%d", seen[key])
			}
		}
	}
	return found, nil
}

func mutate(n ast.Node, add func(from, to token.Pos, text, mutation string)) bool {
	swap := func(at token.Pos, op token.Token) {
		if other, ok := swaps[op]; ok {
			add(at, at+token.Pos(len(op.String())), other.String(), op.String()+" to "+other.String())
		}
	}
	switch n := n.(type) {
	case *ast.ArrayType:
		return false
	case *ast.BinaryExpr:
		if n.Op != token.ADD || !isText(n.X) && !isText(n.Y) {
			swap(n.OpPos, n.Op)
		}
	case *ast.BranchStmt:
		swap(n.TokPos, n.Tok)
	case *ast.IfStmt:
		// A negated comparison is a mutant already.
		if c, ok := n.Cond.(*ast.BinaryExpr); !ok || c.Op != token.EQL && c.Op != token.NEQ {
			add(n.Cond.Pos(), n.Cond.End(), "!(OLD)", "negated if")
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			text := strconv.FormatInt(v+1, 10)
			add(n.Pos(), n.End(), text, n.Value+" to "+text)
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if id, ok := result.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
				add(id.Pos(), id.End(), "!OLD", id.Name+" to !"+id.Name)
			}
		}
	case *ast.BlockStmt:
		remove(n.List, add)
	case *ast.CaseClause:
		remove(n.Body, add)
	case *ast.CommClause:
		remove(n.Body, add)
	}
	return true
}

// remove leaves what is removed to the compiler, so that nothing is unused. The head of a
// loop stays, for without its last part most loops are endless.
func remove(list []ast.Stmt, add func(from, to token.Pos, text, mutation string)) {
	for _, stmt := range list {
		removed := false
		switch stmt := stmt.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.IncDecStmt:
			removed = true
		case *ast.AssignStmt:
			removed = stmt.Tok != token.ASSIGN && stmt.Tok != token.DEFINE
		}
		if removed {
			add(stmt.Pos(), stmt.End(), "if false { OLD }", "removed statement")
		}
	}
}

func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}
