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
	// maxTags bounds tags and labels of samples together. The server takes 30 label names
	// in a series (-validation.max-label-names-per-series), six of them its own.
	maxTags = 24
	// maxTagValue, of tags and labels, is -validation.max-length-label-value.
	maxTagValue = 2048
	// unknownService is OpenTelemetry's default.
	unknownService = "unknown_service"
)

// formatSeries returns the application and its tags in the grammar of /ingest,
// app{key=value,...}.
func formatSeries(app string, tags map[string]string) string {
	var b strings.Builder
	b.WriteString(appName(app))
	if appName(app) != app {
		// The server takes a tag of this name unchanged.
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

// seriesTags returns the application and its tags: the static ones, and attributes of the
// resource while there is room. It also returns the attributes left out: without room,
// with the same name as another, or with a reserved name.
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

// isTag reports whether an attribute becomes a tag. Attributes that change with every
// start of the process would make a series of each.
func isTag(key attribute.Key) bool {
	switch key {
	case "service.name", "service.instance.id", "host.id", "container.id", "k8s.pod.uid":
		return false
	}
	name := string(key)
	return !strings.HasPrefix(name, "telemetry.") && !strings.HasPrefix(name, "process.") && !strings.HasPrefix(name, "os.")
}

// isReserved reports whether the server gives a tag of this name another meaning: the
// application, or how to store the profile.
func isReserved(name string) bool {
	return name == "service_name" || strings.HasPrefix(name, "__")
}

// appName replaces characters that the server refuses in the name of an application. The
// default Resource has unknown_service:executable.
func appName(s string) string {
	return strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || strings.ContainsRune("_.-/", r) {
			return r
		}
		return '_'
	}, s)
}

// tagName replaces characters that cannot be in the name of a tag. Older servers replaced
// dots by underscores. v2.2.1 keeps the dots, and shows such a label only to clients that
// request names in UTF-8 (-validation.disable-label-sanitization).
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

// tagValue replaces characters that would end a value, because there is no escape. It cuts
// values to the length that the server takes.
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
