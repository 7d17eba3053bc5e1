// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

const (
	// maxTags is for tags and the labels of samples together. It leaves room for
	// the server's own among the 30 label names that it takes in a series
	// (-validation.max-label-names-per-series).
	maxTags = 24
	// maxTagValue, of tags and labels, is -validation.max-length-label-value.
	maxTagValue = 2048
	// unknownService is OpenTelemetry's name of a service without one.
	unknownService = "unknown_service"
)

// seriesName returns the application and its tags as /ingest reads them,
// app{key=value,...}.
func seriesName(r *resource.Resource, static map[string]string) string {
	app, tags, _ := seriesTags(r, static, maxTags)
	var b strings.Builder
	b.WriteString(appName(app))
	if appName(app) != app {
		// The server takes a tag of this name as it is.
		tags["service_name"] = app
	}
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(tags)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key + "=" + tags[key])
	}
	b.WriteByte('}')
	return b.String()
}

// seriesTags returns the application, the static tags with those of the resource
// for which there is room, and the attributes that should be tags and cannot: there
// was no room, another has the same name, or the server has that name for something
// else.
func seriesTags(r *resource.Resource, static map[string]string, room int) (app string, tags map[string]string, left []attribute.Key) {
	tags = maps.Clone(static)
	if tags == nil {
		tags = map[string]string{}
	}
	app = unknownService
	for _, kv := range r.Attributes() { // sorted by key
		value := tagValue(kv.Value.Emit()) //nolint:staticcheck // OpenTelemetry 1.38 has no String
		key := tagName(string(kv.Key))
		_, overruled := static[key]
		_, taken := tags[key]
		switch {
		case value == "":
		case kv.Key == "service.name":
			app = value
		case !isTag(kv.Key) || overruled:
		case taken, isReserved(key), len(tags) >= room:
			left = append(left, kv.Key)
		default:
			tags[key] = value
		}
	}
	return app, tags, left
}

// isTag reports whether an attribute says where to look, and does not make a
// series of every start of the process.
func isTag(key attribute.Key) bool {
	switch key {
	case "service.name", "service.instance.id", "host.id", "container.id", "k8s.pod.uid":
		return false
	}
	name := string(key)
	return !strings.HasPrefix(name, "telemetry.") && !strings.HasPrefix(name, "process.") && !strings.HasPrefix(name, "os.")
}

// isReserved reports whether the server would take a tag of this name for
// something else: the application, or how it is to store the profile.
func isReserved(name string) bool {
	return name == "service_name" || strings.HasPrefix(name, "__")
}

// appName replaces what the server does not take in the name of an application,
// as in the unknown_service:executable of the default Resource.
func appName(s string) string {
	return strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || strings.ContainsRune("_.-/", r) {
			return r
		}
		return '_'
	}, s)
}

// tagName replaces what cannot be in the name of a tag. Servers used to put
// underscores in place of dots themselves. v2.2.1 keeps the dots, and shows such a label
// only to clients that ask for names of all of UTF-8
// (-validation.disable-label-sanitization).
func tagName(s string) string {
	name := strings.Map(func(r rune) rune {
		if isAlphanumeric(r) {
			return r
		}
		return '_'
	}, s)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// tagValue replaces what would end a value, for which there is no escape, and
// cuts it to the length that the server takes.
func tagValue(s string) string {
	s = strings.NewReplacer(",", "_", "}", "_").Replace(strings.ToValidUTF8(s, "_"))
	if len(s) > maxTagValue {
		s = strings.ToValidUTF8(s[:maxTagValue], "")
	}
	return strings.TrimSpace(s)
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
