// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command spanprof works with profiles that have left their process: record, pgo, diff, view
// and trace.
//
// Credentials are read from the environment, never from an address or a flag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/termtext"
)

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitCannotTell
	exitGrew
)

// command is a subcommand.
type command struct {
	name, synopsis, summary string
	// example is a command line with its output.
	example string
	// run adds the command's flags, parses args with them and does the work.
	run func(ctx context.Context, c *call) error
}

var commands = []command{recordCommand, pgoCommand, diffCommand, viewCommand, traceCommand}

// call is one run of a subcommand.
type call struct {
	*flag.FlagSet
	args           []string
	stdout, stderr io.Writer
}

// parse reads the flags that the command has added.
func (c *call) parse() error {
	switch err := c.Parse(c.args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w; %q lists the flags", err, c.Name()+" -help")
	}
	for _, arg := range c.Args() {
		if strings.HasPrefix(arg, "-") {
			return fmt.Errorf("%s stands after an argument: flags come first; a file of that name is ./%[1]s", arg)
		}
	}
	return nil
}

// leftOut reports a profile or a SOURCE that cannot be used.
func (c *call) leftOut(err error) { _, _ = fmt.Fprintln(c.stderr, "spanprof: left out:", err) }

// plainWriter writes lines, and nothing that moves a terminal's cursor: messages have texts
// of profiles and servers.
type plainWriter struct{ io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i, line := range lines {
		lines[i] = termtext.OneLine(line)
	}
	_, err := io.WriteString(w.Writer, strings.Join(lines, "\n"))
	return len(p), err
}

// codeError is an error with an exit code other than 1.
type codeError struct {
	error
	code int
}

func (e codeError) Unwrap() error { return e.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stderr = plainWriter{stderr}
	if len(args) == 0 {
		usage(stderr)
		return exitFailed
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) == 1 {
			usage(stdout)
			return exitDone
		}
		args = []string{args[1], "-help"}
	}
	for _, cmd := range commands {
		if cmd.name != args[0] {
			continue
		}
		flags := flag.NewFlagSet("spanprof "+cmd.name, flag.ContinueOnError)
		flags.SetOutput(io.Discard) // exitCode prints errors, and here is the help
		flags.Usage = func() {}
		err := cmd.run(ctx, &call{FlagSet: flags, args: args[1:], stdout: stdout, stderr: stderr})
		if errors.Is(err, flag.ErrHelp) {
			_, _ = fmt.Fprintf(stdout, "Usage: spanprof %s %s\n\n%s\n\n%s\n\n", cmd.name, cmd.synopsis, cmd.summary, indented(cmd.example))
			flags.SetOutput(stdout)
			flags.PrintDefaults()
			if strings.Contains(cmd.synopsis, "SOURCE") || strings.Contains(cmd.synopsis, "BEFORE") {
				_, _ = fmt.Fprint(stdout, "\n", source.Usage)
			}
			return exitDone
		}
		return exitCode(err, stderr)
	}
	_, _ = fmt.Fprintf(stderr, "spanprof: there is no command %q\n\n", args[0])
	usage(stderr)
	return exitFailed
}

func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintln(stderr, "spanprof:", err)
	if coded, ok := errors.AsType[codeError](err); ok {
		return coded.code
	}
	return exitFailed
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func usage(w io.Writer) {
	_, _ = fmt.Fprint(w, "Usage: spanprof COMMAND [FLAG]... [ARGUMENT]...\n\n")
	for _, cmd := range commands {
		_, _ = fmt.Fprintf(w, "  %-8s %s\n", cmd.name, cmd.summary)
	}
	_, _ = fmt.Fprint(w, "\nExamples:\n\n")
	for _, cmd := range commands {
		_, _ = fmt.Fprintf(w, "%s\n\n", indented(cmd.example))
	}
	_, _ = fmt.Fprint(w, `"spanprof COMMAND -help" lists a command's flags.

`, source.Usage, `
Exit codes: 0 done, 1 failed, 2 cannot tell (diff -fail-over: too few replicas),
3 something grew (diff -fail-over).
`)
}
