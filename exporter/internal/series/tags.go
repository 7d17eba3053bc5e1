// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"maps"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// tagsOf returns the application and its tags: the static ones, and attributes of the
// resource while there is room. It also returns the attributes left out: without room,
// with the same name as another, or with a reserved name.
func tagsOf(r *resource.Resource, static map[string]string, room int) (app string, tags map[string]string, left []attribute.Key) {
	tags = maps.Clone(static)
	if tags == nil {
		tags = map[string]string{}
	}
	app = "unknown_service"             // OpenTelemetry's default
	for _, kv := range r.Attributes() { // sorted by key
		value := TagValue(kv.Value.Emit()) //nolint:staticcheck // OpenTelemetry 1.38 has no String
		key := TagName(string(kv.Key))
		_, overruled := static[key]
		_, taken := tags[key]
		switch {
		case value == "":
		case kv.Key == "service.name":
			app = value
		case !isTag(kv.Key) || overruled:
		case taken, key == "service_name", strings.HasPrefix(key, "__"), len(tags) >= room:
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

// TagName replaces characters that cannot be in the name of a tag. Older servers replaced
// dots by underscores. v2.2.1 keeps the dots, and shows such a label only to clients that
// request names in UTF-8 (-validation.disable-label-sanitization).
func TagName(s string) string {
	name := strings.Map(func(r rune) rune {
		if Alphanumeric(r) {
			return r
		}
		return '_'
	}, s)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// TagValue replaces characters that would end a value, because there is no escape. It cuts
// values to the length that the server takes.
func TagValue(s string) string {
	return strings.TrimSpace(labelValue(strings.NewReplacer(",", "_", "}", "_").Replace(s)))
}

// Alphanumeric reports whether r is an ASCII letter or digit.
func Alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
