// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck

import (
	"fmt"
	"strings"
)

// The checks of what is kept.
const (
	ServicesDiffer = "service-names-differ"
	ServiceUnnamed = "service-unnamed"
	NotKept        = "spans-not-kept"
	StoreTooSmall  = "store-too-small"
)

var storeChecks = []check{servicesDiffer, serviceUnnamed, notKept, storeTooSmall}

func servicesDiffer(f *Facts) *Finding {
	s := &f.Spans
	if !s.Named || len(s.Profiled) == 0 {
		return nil
	}
	return &Finding{
		ID: ServicesDiffer, Severity: Wrong, Reported: true,
		Seen: fmt.Sprintf("Spans have service.name %s, CPU profiles %s, and tools other than this page join them by that name.", quoted(s.Service), list(s.Profiled)),
		Do:   "Give inprocess.WithResource or profiler.WithResource the resource of the tracer provider, or leave the option of inprocess out: profiles then take that of the spans.",
	}
}

func serviceUnnamed(f *Facts) *Finding {
	s := &f.Spans
	if !s.Named || s.Service != "" && !strings.HasPrefix(s.Service, "unknown_service") {
		return nil
	}
	return &Finding{
		ID: ServiceUnnamed, Severity: Note,
		Seen: fmt.Sprintf("The resource of the spans names no service: service.name is %s.", quoted(s.Service)),
		Do:   "Set OTEL_SERVICE_NAME, or give sdktrace.WithResource a resource with service.name.",
	}
}

func notKept(f *Facts) *Finding {
	s := &f.Spans
	if s.Ended == 0 || s.NotKept < s.Ended {
		return nil
	}
	return &Finding{
		ID: NotKept, Severity: Note,
		Seen: fmt.Sprintf("None of %s is kept, as WithMinDuration or WithSampling leave them all out.", count(s.Ended, "span")),
		Do:   "Lower the duration of WithMinDuration, or raise the fraction of WithSampling.",
	}
}

func storeTooSmall(f *Facts) *Finding {
	s := &f.Store
	const mebi = 1 << 20
	switch {
	case s.Refused > 0:
		return &Finding{
			ID: StoreTooSmall, Severity: Wrong, Reported: true,
			Seen: fmt.Sprintf("%s did not fit into the store of %d MiB: the samples are on no page.", count(s.Refused, "profile"), s.MaxBytes/mebi),
			Do:   "Raise WithMaxBytes, or make windows shorter by WithWindow.",
		}
	case s.Received >= 20 && s.Windows <= 4 && s.Evicted > 0:
		return &Finding{
			ID: StoreTooSmall, Severity: Note,
			Seen: fmt.Sprintf("The store has room for %s: of %s that came, %s made room for newer ones.", count(s.Windows, "window"), number(s.Received), number(s.Evicted)),
			Do:   "Raise WithMaxBytes, of which profiles take three quarters.",
		}
	}
	return nil
}
