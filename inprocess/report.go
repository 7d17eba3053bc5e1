// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// reportVariable names the file that Shutdown writes the report to.
const reportVariable = "SPANPROF_REPORT"

// WriteReport writes the list of spans as one HTML file of at most 5 MiB that opens without a
// server. It has the sums by name and the flame graphs of the 20 slowest spans, redacted like the
// page. The spans below these have theirs too. It is for jobs and command-line tools, which end before anybody opens a page. Shutdown or
// Flush must come before, because samples arrive at the end of their window.
//
// It returns an error if the report cannot be made or w fails.
func (p *Profiling) WriteReport(w io.Writer) error {
	if p == nil {
		return nil
	}
	report, err := p.report(context.Background())
	if err != nil {
		return err
	}
	if _, err = w.Write(report); err != nil {
		return fmt.Errorf("inprocess: report: %w", err)
	}
	return nil
}

// report returns the page of the slowest spans as one file.
func (p *Profiling) report(ctx context.Context) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/?format=frozen&order=slowest", http.NoBody)
	if err != nil {
		return nil, err
	}
	w := response{header: http.Header{}}
	p.handler.ServeHTTP(&w, r)
	if w.status != http.StatusOK {
		return nil, fmt.Errorf("inprocess: report: %s", bytes.TrimSpace(w.body.Bytes()))
	}
	return w.body.Bytes(), nil
}

// response is a response in memory.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *response) Header() http.Header         { return w.header }
func (w *response) WriteHeader(status int)      { w.status = status }
func (w *response) Write(b []byte) (int, error) { return w.body.Write(b) }

// writeReportFile writes the report to the file of the environment.
func (p *Profiling) writeReportFile(ctx context.Context) error {
	if p.reportPath == "" {
		return nil
	}
	report, err := p.report(ctx)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Dir(p.reportPath), filepath.Base(p.reportPath), report); err != nil {
		return fmt.Errorf("inprocess: %s: %w", reportVariable, err)
	}
	return nil
}
