// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/hex"
	"fmt"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// addMappings adds the mappings of samples, in the order of pprof. The first one is the
// program.
func (e *encoder) addMappings() {
	used := make(map[*profile.Mapping]bool, len(e.pprof.Mapping))
	for _, s := range e.pprof.Sample {
		for _, l := range s.Location {
			used[l.Mapping] = true
		}
	}
	for _, m := range e.pprof.Mapping {
		if used[m] {
			e.mappings[m] = e.dict.mapping(m, e.mappingAttributes(m))
		}
	}
}

func (e *encoder) mappingAttributes(m *profile.Mapping) []int32 {
	var indices []int32
	add := func(kv attribute.KeyValue) { indices = append(indices, e.dict.attribute(kv, "")) }
	if m.BuildID != "" {
		add(buildID(validUTF8(m.BuildID)))
	}
	if exe := thisExecutable(); m.File != "" && m.File == exe.path {
		add(semconv.ProcessExecutableBuildIDHtlhash(exe.hash))
	}
	for _, flag := range []struct {
		set bool
		key attribute.Key
	}{
		{m.HasFunctions, semconv.PprofMappingHasFunctionsKey},
		{m.HasFilenames, semconv.PprofMappingHasFilenamesKey},
		{m.HasLineNumbers, semconv.PprofMappingHasLineNumbersKey},
		{m.HasInlineFrames, semconv.PprofMappingHasInlineFramesKey},
	} {
		if flag.set {
			add(flag.key.Bool(true))
		}
	}
	return indices
}

// buildID returns the attribute of a build id. runtime/pprof reads the GNU one,
// which is hexadecimal; Go's own has slashes.
func buildID(id string) attribute.KeyValue {
	if _, err := hex.DecodeString(id); err != nil {
		return semconv.ProcessExecutableBuildIDGo(id)
	}
	return semconv.ProcessExecutableBuildIDGNU(id)
}

func (d *dictionary) mapping(m *profile.Mapping, attributes []int32) int32 {
	k := mappingKey{start: m.Start, limit: m.Limit, offset: m.Offset, file: validUTF8(m.File)}
	if len(attributes) > 0 {
		k.attributes = fmt.Sprint(attributes)
	}
	return index(d.mappings, &d.tables.MappingTable, k, func() *profilespb.Mapping {
		return &profilespb.Mapping{
			MemoryStart:      m.Start,
			MemoryLimit:      m.Limit,
			FileOffset:       m.Offset,
			FilenameStrindex: d.string(k.file),
			AttributeIndices: attributes,
		}
	})
}
