// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package source_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/pgo"
)

type sample = profile.Sample

// total returns the sum of the values of a type, which the profile must have.
func total(p *profile.Profile, sampleType string) int64 {
	i := -1
	for n, t := range p.SampleType {
		if t.Type == sampleType {
			i = n
		}
	}
	if i < 0 {
		panic("no " + sampleType + " in\n" + p.String())
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[i]
	}
	return sum
}

// readRaw returns the profile at an address, as it is there.
func readRaw(t *testing.T, address string) *profile.Profile {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := pgo.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
