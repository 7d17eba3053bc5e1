// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package untrusted_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/internal/wire"
)

// encoded returns a profile as write writes it.
func encoded(t *testing.T, samples int, write func(*profile.Profile, io.Writer) error) []byte {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	for range samples {
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}})
	}
	var b bytes.Buffer
	if err := write(p, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestProfile(t *testing.T) {
	zipped := encoded(t, 3, (*profile.Profile).Write)
	plain := encoded(t, 3, (*profile.Profile).WriteUncompressed)
	invalid := encoded(t, 3, func(p *profile.Profile, w io.Writer) error {
		p.SampleType = append(p.SampleType, p.SampleType[0])
		return p.WriteUncompressed(w)
	})
	errAny := errors.New("any")
	for name, test := range map[string]struct {
		data     []byte
		maxBytes int
		want     error // nil for success
	}{
		"gzipped":   {zipped, len(plain), nil},
		"plain":     {plain, 0, nil},
		"large":     {zipped, len(plain) - 1, wire.ErrTooLarge},
		"cut off":   {zipped[:len(zipped)-1], len(plain), wire.ErrGzip},
		"cut plain": {plain[:len(plain)-1], 0, errAny},
		"invalid":   {invalid, 0, errAny},
	} {
		p, err := untrusted.Profile(test.data, int64(test.maxBytes))
		switch {
		case test.want == nil && (err != nil || len(p.Sample) != 3), test.want != nil && err == nil:
			t.Errorf("%s: got %v, %v", name, p, err)
		case test.want != nil && !errors.Is(test.want, errAny) && !errors.Is(err, test.want):
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}
