// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package file_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/files/filestest"
)

// Pipes and links with the name of a profile are reported and stay.
func TestOddFiles(t *testing.T) {
	var reported []string
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err.Error()) }))
	dir := t.TempDir()
	filestest.MakeOdd(t, dir, "20991101T000000.000000000Z-", "-cpu.pprof.gz")
	e := newExporter(t, dir, 0)
	export(t, e, gzipped(time.Now(), 10))
	if len(reported) != 1 || !strings.HasPrefix(reported[0], "file: directory "+dir+": skipped: ") || !strings.HasSuffix(reported[0], "and 3 more like it") {
		t.Errorf("reported %q", reported)
	}
}
