// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// Split returns profiles that the server takes in place of p: p itself as a rule. To
// see its labels and samples it parses every profile.
func (d *destination) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	parts := d.prepare(p)
	if r := d.tagged(p.Resource()); r != p.Resource() {
		for i := range parts {
			parts[i] = withResource(parts[i], r)
		}
	}
	return parts, nil
}

// prepare returns profiles that the server takes in place of p: p itself as a rule, and
// where it cannot be parsed, which the server then says.
func (d *destination) prepare(p *exporter.Profile) []*exporter.Profile {
	parsed, err := p.Parsed()
	if err != nil || parsed.CheckValid() != nil {
		return []*exporter.Profile{p}
	}
	if id, ok := foreignID(parsed); ok {
		d.said.foreignID.Do(func() {
			d.reporter.Report(fmt.Errorf("pyroscope: profile_id %q cannot be queried in Pyroscope: only ids of 16 hex digits can (this is said once)", id))
		})
	}
	fitted, changed := d.labels.fit(parsed)
	if changed {
		d.said.labels.Do(func() {
			d.reporter.Report(fmt.Errorf("pyroscope: labels of a %s profile are changed, or the server would refuse it or hide them: it takes %d together with the tags, values of %d bytes, and shows names of letters, digits and underscores (this is said once)", p.Kind(), maxTags, maxTagValue))
		})
	}
	if fitted != parsed {
		p = exporter.NewParsedProfile(windowOf(p), fitted)
		parsed = fitted
	}
	parts := parts(p, parsed)
	if len(parts) > 1 {
		d.said.split.Do(func() {
			d.reporter.Report(fmt.Errorf("pyroscope: a %s profile of %d samples was split into %d: the server takes %d samples and %d bytes at once (this is said once)", p.Kind(), len(parsed.Sample), len(parts), maxSamples, maxSize))
		})
	}
	return parts
}

// tagged returns r, without the attributes that cannot be tags: the Queue may keep
// it for another process, which does not know how many labels the profiles have.
func (d *destination) tagged(r *resource.Resource) *resource.Resource {
	_, _, left := seriesTags(r, d.labels.tags, d.labels.room())
	if len(left) == 0 {
		return r
	}
	if d.labels.isMore(len(left)) {
		d.reporter.Report(fmt.Errorf("pyroscope: %d attribute(s) of the resource are not sent as tags, %s for one: the server takes %d together with the labels of samples, their names have to differ with underscores for dots, and service_name and __* are its own (this is said again only if there are more)", len(left), left[0], maxTags))
	}
	kept := slices.DeleteFunc(r.Attributes(), func(kv attribute.KeyValue) bool { return slices.Contains(left, kv.Key) })
	return resource.NewWithAttributes(r.SchemaURL(), kept...)
}

// withResource returns p with another resource.
func withResource(p *exporter.Profile, r *resource.Resource) *exporter.Profile {
	w := windowOf(p)
	w.Resource = r
	data, err := p.Pprof()
	if err != nil {
		return p // it fails in the queue, which counts it
	}
	return exporter.NewProfile(w, data)
}

func windowOf(p *exporter.Profile) exporter.Window {
	return exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}
}
