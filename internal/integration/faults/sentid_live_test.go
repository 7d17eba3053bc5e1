// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/pprof/profile"
	profilespb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// idsOf returns the ids of the spans in a request: a push to /ingest, or OTLP/HTTP. The first
// sample of a profile has the id of its span. idsOf reads the body.
func idsOf(r *http.Request) ([]string, error) {
	if r.URL.Path == "/ingest" {
		return idsOfIngest(r)
	}
	m := new(profilespb.ExportProfilesServiceRequest)
	if err := decode(r, m); err != nil {
		return nil, err
	}
	return idsOfProfiles(m)
}

// idsOfProfiles is idsOf for the message of OTLP/gRPC.
func idsOfProfiles(m *profilespb.ExportProfilesServiceRequest) (ids []string, err error) {
	links := m.GetDictionary().GetLinkTable()
	for _, resource := range m.ResourceProfiles {
		for _, scope := range resource.ScopeProfiles {
			for _, p := range scope.Profiles {
				if len(p.Samples) == 0 || int(p.Samples[0].LinkIndex) >= len(links) {
					return nil, errors.New("a profile has no sample with a link")
				}
				ids = append(ids, hex.EncodeToString(links[p.Samples[0].LinkIndex].SpanId))
			}
		}
	}
	return ids, nil
}

func idsOfIngest(r *http.Request) ([]string, error) {
	f, _, err := r.FormFile("profile")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, err
	}
	if len(p.Sample) == 0 || len(p.Sample[0].Label["span_id"]) != 1 {
		return nil, errors.New("a profile has no sample with a span_id")
	}
	return p.Sample[0].Label["span_id"], nil
}

// decode reads a message of OTLP/HTTP.
func decode(r *http.Request, m proto.Message) error {
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, m)
}
