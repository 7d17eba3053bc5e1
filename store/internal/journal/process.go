// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// Process is a run of a program.
type Process struct {
	Started time.Time `json:"started"`
	// PID is 0 where it is not known.
	PID int `json:"pid"`
	// Services are the services in the profiles it has written, its own first.
	Services []Service `json:"services,omitempty"`
}

// Service is service.name and service.version.
type Service struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Version returns service.version of the first service.
func (p *Process) Version() string {
	if len(p.Services) == 0 {
		return ""
	}
	return p.Services[0].Version
}

// resource returns the resource of a service, by the service in the name of a file.
func (p *Process) resource(inName string) *resource.Resource {
	if inName == "" {
		return nil
	}
	s := Service{Name: inName}
	for _, of := range p.Services {
		if fileName(of.Name) == inName {
			s = of
			break
		}
	}
	all := []attribute.KeyValue{attribute.String("service.name", s.Name)}
	if s.Version != "" {
		all = append(all, attribute.String("service.version", s.Version))
	}
	return resource.NewSchemaless(all...)
}

// fileName returns a service as the name of a file has it.
func fileName(service string) string {
	r := resource.NewSchemaless(attribute.String("service.name", service))
	parts, _ := profiledir.Parse(profiledir.Name(exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Resource: r}, nil), time.Unix(0, 0), 0))
	return parts.Service
}

// maxServices bounds the list of a process.
const maxServices = 256

// processRecord is what processFile has.
type processRecord struct {
	format
	Process
}

const processFormat = "spanprof process"

// describe writes processFile where the service of a profile is a new one.
func (j *Journal) describe(r *resource.Resource) error {
	name, _ := r.Set().Value("service.name")
	version, _ := r.Set().Value("service.version")
	s := Service{name.AsString(), version.AsString()}
	if slices.Contains(j.process.Services, s) || s.Name == "" || len(j.process.Services) >= maxServices {
		return nil
	}
	p := j.process
	p.Services = append(slices.Clip(p.Services), s)
	if err := j.writeProcess(p); err != nil {
		return err
	}
	j.process = p
	return nil
}

func (j *Journal) writeProcess(p Process) error {
	text, err := json.Marshal(processRecord{format{processFormat, version}, p})
	if err != nil {
		return err
	}
	data, err := zipped(append(text, '\n'))
	if err != nil {
		return err
	}
	return j.files.WithRoom(startBytes, func() error {
		return atomicfile.Write(filepath.Join(j.dir, j.run), processFile, atomicfile.Process, data)
	})
}

// readProcess reads the file of a run. None is no error: a process may have died before.
func readProcess(dir string) (p Process, err error) {
	data, err := files.Read(filepath.Join(dir, processFile), files.NoFollow, maxProcessBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		data, err = unzipped(data, maxProcessBytes)
	}
	// What else a later version has may be of other types.
	var of format
	if err == nil {
		err = json.Unmarshal(data, &of)
	}
	if err != nil {
		return p, err
	}
	if of != (format{processFormat, version}) {
		return p, errVersion(of.Format, of.Version, processFormat)
	}
	err = json.Unmarshal(data, &p)
	return p, err
}

const maxProcessBytes = 4 << 20

// runName returns the name of the directory of a run. A later run has a greater number,
// also if the clock was set back.
func runName(started time.Time, number int, random uint32) string {
	return fmt.Sprintf("%s%s%06d-%08x", profiledir.Stamp(started), runSeparator, number, random)
}

// parseRun returns when the run of a directory started, and its number.
func parseRun(name string) (started time.Time, number int, ok bool) {
	started, ok = profiledir.StampOf(name)
	_, rest, isRun := strings.Cut(name, runSeparator)
	if _, err := fmt.Sscanf(rest, "%06d-", &number); err != nil || !ok || !isRun || number < 0 {
		return started, 0, false
	}
	return started, number, true
}
