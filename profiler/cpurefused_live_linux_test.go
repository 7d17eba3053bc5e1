// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/internal/seccomptest"
	"github.com/spanprof/spanprof/profiler"
)

func init() { children["refused"] = profileWithoutSignals }

// Where the system refuses the signals by which the reader of samples is woken, runtime/pprof
// reads them soon, which is reported once.
func TestCPUWhereSignalsAreRefused(t *testing.T) {
	knownRuntime(t)
	command := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
	command.Env = append(os.Environ(), childVariable+"=refused")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// profileWithoutSignals is the child.
func profileWithoutSignals() error {
	refuse := seccomptest.Rule{Call: unix.SYS_TGKILL, Equal: map[int]uint32{2: uint32(unix.SIGPROF)}, Errno: unix.EPERM}
	if err := seccomptest.Install(refuse); err != nil {
		return err
	}
	var heard atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		heard.Add(int64(strings.Count(err.Error(), "tgkill")))
	}))
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	if err != nil {
		return err
	}
	p.SetPatience(time.Minute)
	if err := p.Start(); err != nil {
		return err
	}
	for range 3 { // of which the last has runtime/pprof go on
		if err := p.Flush(context.Background()); err != nil {
			return err
		}
	}
	if got := p.Status(); !strings.Contains(got.CPUFallback, "tgkill") || got.CPUEdges != 3 {
		return fmt.Errorf("after three windows with %d edges the fallback is %q", got.CPUEdges, got.CPUFallback)
	}
	for d := 50 * time.Millisecond; ; d *= 2 {
		if d > longest {
			return errors.New("no sample")
		}
		burn("refused", d)
		if err := p.Flush(context.Background()); err != nil {
			return err
		}
		all := rec.Profiles()
		got, err := all[len(all)-1].Parsed()
		if err != nil {
			return err
		}
		if burned(got, "refused") {
			break
		}
	}
	if err := p.Shutdown(context.Background()); err != nil {
		return err
	}
	reporttest.Settle()
	if n := heard.Load(); n != 1 {
		return fmt.Errorf("otel.Handle has heard of it %d times", n)
	}
	return nil
}
