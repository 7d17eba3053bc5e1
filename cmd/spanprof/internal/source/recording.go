// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
)

// RecordingFile is the name of the file that describes the profiles in its
// directory.
const RecordingFile = "recording.json"

// Recording describes the profiles in a directory: of one address.
type Recording struct {
	// Target is the address that they were read from.
	Target string `json:"target"`
	// Resource are the attributes of the process: service.name, service.version,
	// service.instance.id and the attributes given on the command line.
	Resource map[string]string `json:"resource"`
}

// Write writes the description into a directory.
func (r Recording) Write(dir string) error {
	data, _ := json.MarshalIndent(r, "", "  ") // texts can be encoded
	return atomicfile.Write(dir, RecordingFile, append(data, '\n'))
}

// maxRecording bounds what is read of a description.
const maxRecording = 1 << 20

// readRecording returns the description in a directory; nil if there is none.
func readRecording(dir string) (*Recording, error) {
	path := filepath.Join(dir, RecordingFile)
	data, err := files.Read(path, files.Follow, maxRecording)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("no description of a recording: %w", err)
	}
	var r Recording
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: no description of a recording: %w", path, err)
	}
	return &r, nil
}

// Attributes returns the attributes of the process.
func (r Recording) Attributes() *resource.Resource {
	attributes := make([]attribute.KeyValue, 0, len(r.Resource))
	for _, key := range slices.Sorted(maps.Keys(r.Resource)) {
		attributes = append(attributes, attribute.String(key, r.Resource[key]))
	}
	return resource.NewSchemaless(attributes...)
}
