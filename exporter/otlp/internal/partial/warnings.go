// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package partial reads the partial success in the response to an accepted request.
package partial

import (
	"context"
	"fmt"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/internal/report"
)

// Warnings reports warnings in responses through otel.Handle. It does not wait for the
// handler, which may use the exporter.
type Warnings struct {
	reporter report.Reporter
}

// Check returns an error if the server has rejected profiles of the request. It
// is permanent: OTLP forbids to repeat such a request. clean makes the server's text
// fit for a log.
func (w *Warnings) Check(server string, r *collectorpb.ExportProfilesServiceResponse, clean func(string) string) error {
	p := r.GetPartialSuccess()
	switch {
	case p.GetRejectedProfiles() > 0:
		return fmt.Errorf("%s: partial success: %d profile(s) rejected: %s", server, p.GetRejectedProfiles(), clean(p.GetErrorMessage()))
	case p.GetErrorMessage() != "":
		w.reporter.Report(fmt.Errorf("%s: profiles taken, with a warning: %s", server, clean(p.GetErrorMessage())))
	}
	return nil
}

// Wait gives the error handler a moment for the last warning.
func (w *Warnings) Wait(ctx context.Context) { w.reporter.Wait(ctx) }
