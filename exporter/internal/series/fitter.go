// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package series fits profiles to what a Pyroscope server takes and shows as labels of a
// series. A server refuses a whole profile with one label too many. Every exporter that
// sends to Pyroscope uses this package, so that each way gives the same series.
package series

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/report"
)

const (
	// MaxTags bounds tags and labels of samples together. The server takes 30 label names
	// in a series (-validation.max-label-names-per-series), at most six of them its own.
	MaxTags = 24
	// MaxValue bounds values of tags and labels (-validation.max-length-label-value).
	MaxValue = 2048
	// MaxSamples bounds a profile (-validation.max-profile-stacktrace-samples).
	MaxSamples = 16_000
)

// Fitter changes labels of samples and attributes of resources. WithTags of an exporter
// takes precedence, then labels of samples, then attributes. It reports the first
// change of each kind. It is safe for concurrent use.
type Fitter struct {
	// Name is the exporter's, in reports.
	Name string
	// Static are the tags of WithTags; nil if there are none.
	Static map[string]string

	reporter report.Reporter
	reported sync.Once // guards a report of changed labels

	mu   sync.Mutex
	own  int // the most labels of a sample so far: a tag that made room stays away
	left int // the most attributes left out so far
}

// Fit returns p with labels that the server takes: p itself as a rule. It returns a profile
// that cannot be parsed unchanged: the server's answer is the error then.
func (f *Fitter) Fit(p *exporter.Profile) *exporter.Profile {
	parsed, err := p.Parsed()
	if err != nil || parsed.CheckValid() != nil {
		return p
	}
	fitted, changed := f.fit(parsed)
	if changed {
		f.reported.Do(func() {
			f.reporter.Report(fmt.Errorf("%s: labels of a %s profile are changed, because the server would refuse or hide them: it takes %d together with the tags, values of %d bytes, and shows names of letters, digits and underscores (reported once)", f.Name, p.Kind(), MaxTags, MaxValue))
		})
	}
	if fitted == parsed {
		return p
	}
	w := exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}
	return exporter.NewParsedProfile(w, fitted)
}

// Tags returns the application and its tags for r. It reports attributes that
// cannot be tags, and again if there are more. Call it after Fit: labels of samples take
// precedence.
func (f *Fitter) Tags(r *resource.Resource) (app string, tags map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	app, tags, left := tagsOf(r, f.Static, MaxTags-f.own)
	if len(left) > f.left {
		f.left = len(left)
		f.reporter.Report(fmt.Errorf("%s: %d attribute(s) of the resource are not sent as tags, for example %s: the server takes %d together with the labels of samples, names must differ with underscores for dots, and service_name and __* are reserved (reported again only if there are more)", f.Name, len(left), left[0], MaxTags))
	}
	return app, tags
}

// Wait gives the error handler a moment for the last report.
func (f *Fitter) Wait(ctx context.Context) { f.reporter.Wait(ctx) }

// fit returns p with labels that the server takes and shows: p itself if they are so. It
// shares the rest with p. It reports whether more has changed than dots, which become
// underscores in tags too.
func (f *Fitter) fit(p *profile.Profile) (_ *profile.Profile, changed bool) {
	samples, own, copied := p.Sample, 0, false
	for i, s := range p.Sample {
		labels, n, isChanged, same := f.labels(s.Label, MaxTags-len(f.Static))
		own, changed = max(own, n), changed || isChanged
		if same {
			continue
		}
		if !copied {
			samples, copied = slices.Clone(samples), true
		}
		samples[i] = &profile.Sample{Location: s.Location, Value: s.Value, Label: labels, NumLabel: s.NumLabel, NumUnit: s.NumUnit}
	}
	f.mu.Lock()
	f.own = max(f.own, own)
	f.mu.Unlock()
	if !copied {
		return p, false
	}
	return split.WithSamples(p, samples), changed
}

// labels returns at most room labels of a sample, and how many they are without ids:
// span_name, and then the first ones by their names. Names and values are changed as in
// tags. same is set if all stay.
func (f *Fitter) labels(all map[string][]string, room int) (fitted map[string][]string, n int, changed, same bool) {
	same = true
	for name, values := range all {
		if !isID(name) && f.Static[name] == "" { // the server prefers the tag
			n++
			same = same && name != labelkey.EndedSpanID && TagName(name) == name && !slices.ContainsFunc(values, isBadValue)
		}
	}
	if same = same && n <= room; same {
		return all, n, false, true
	}
	names := slices.Sorted(maps.Keys(all))
	if i := slices.Index(names, labelkey.SpanName); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, labelkey.SpanName)
	}
	fitted, n = make(map[string][]string, len(all)), 0
	for _, name := range names {
		switch own := TagName(name); {
		case isID(name):
			fitted[name] = all[name]
		case name == labelkey.EndedSpanID: // the server has no such id: each would be a series
		case f.Static[own] != "":
		case n == room || fitted[own] != nil:
			changed = true
		default:
			n++
			changed = changed || own != strings.ReplaceAll(name, ".", "_") || slices.ContainsFunc(all[name], isBadValue)
			for _, value := range all[name] {
				fitted[own] = append(fitted[own], labelValue(value))
			}
		}
	}
	return fitted, n, changed, false
}

// isID reports whether the server treats a label as an id, and not as one of the series.
func isID(name string) bool {
	return name == labelkey.ProfileID || name == labelkey.SpanID || name == labelkey.TraceID
}

func isBadValue(s string) bool { return len(s) > MaxValue || !utf8.ValidString(s) }

// labelValue cuts a value to what the server takes.
func labelValue(s string) string {
	s = strings.ToValidUTF8(s, "_")
	return strings.ToValidUTF8(s[:min(len(s), MaxValue)], "")
}
