// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package ebpfbridge_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof/ebpfbridge"
	"github.com/spanprof/spanprof/internal/seccomptest"
)

// roleVariable makes the test binary a program that publishes. A test reads that
// program's memory, as an agent does; the other way round Linux may forbid it.
const roleVariable = "SPANPROF_TEST_ROLE"

func init() {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
}

var (
	refuseMemfd = seccomptest.Rule{Call: unix.SYS_MEMFD_CREATE, Errno: unix.EPERM}
	refuseName  = seccomptest.Rule{Call: unix.SYS_PRCTL, Equal: map[int]uint32{0: unix.PR_SET_VMA}, Errno: unix.EINVAL}
)

// child is a running role.
type child struct {
	pid   int
	lines *bufio.Scanner
}

// start runs a role until the end of the test.
func start(t *testing.T, role string) child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends the role
		if err := cmd.Wait(); err != nil {
			t.Errorf("role %s: %v", role, err)
		}
	})
	return child{pid: cmd.Process.Pid, lines: bufio.NewScanner(out)}
}

// line waits for the next line that the role prints.
func (c child) line(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the child has ended: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// play is the main function of a role. What it prints is the outcome of Publish.
func play(role string) int {
	var err error
	switch role {
	case "no memfd":
		err = seccomptest.Install(refuseMemfd)
	case "no name":
		err = seccomptest.Install(refuseName)
	case "neither":
		err = seccomptest.Install(refuseMemfd, refuseName)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mapped, open := countMappings(), countFiles()
	p, err := ebpfbridge.Publish(service("shop"))
	switch {
	case errors.Is(err, ebpfbridge.ErrUnsupported):
		fmt.Printf("unsupported, %d mappings and %d files left\n", countMappings()-mapped, countFiles()-open)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println("published")
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for i := 0; role == "update"; i++ {
		if err := p.Update(version(i)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		select {
		case <-stop:
			return 0
		default:
		}
	}
	<-stop
	return 0
}

// version returns a resource by which a reader can tell whether it has all of one
// version: its length and each of its bytes follow from its number.
func version(i int) *resource.Resource {
	text := strings.Repeat(string(rune('a'+i%26)), 1+i*977%40_000)
	return resource.NewSchemaless(attribute.Int("version", i), attribute.String("text", text))
}
