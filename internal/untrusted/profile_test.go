// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package untrusted_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime/pprof"
	"strings"
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

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Files of other tools are recognised, also gzipped.
func TestFileForeign(t *testing.T) {
	for want, data := range map[string][]byte{
		"gzip within gzip":              zipped(t, encoded(t, 1, (*profile.Profile).Write)),
		"spanprof trace":                []byte("go 1.26 trace\x00\x00\x00\x01"),
		"perf_to_profile":               []byte("PERFILE2\x68\x00\x00\x00"),
		"jfrconv":                       []byte("FLR\x00\x00\x02\x00\x01"),
		"Chrome's DevTools":             []byte(`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"startTime":1,"timeDeltas":[1]}`),
		"JSON":                          []byte(`[1, 2]`),
		"without debug=":                text(t, "goroutine"),
		"folded stacks":                 []byte("main;work;hash 12\nmain;idle 3\n"),
		"of spanprof: open it in":       []byte("<!doctype html>\n<style></style>\n<title>spanprof</title>"),
		"an HTML page":                  []byte("<!DOCTYPE html><title>Log in</title>"),
		"profile without debug= in the": []byte("goroutine 1 [running]:\nmain.main()\n"),
	} {
		for _, data := range [][]byte{data, zipped(t, data)} {
			if _, err := untrusted.File(data, 1<<20); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.20q: got %v, want %s", data, err, want)
			}
		}
	}
	for _, data := range []string{"no profile", "404 page not found\n", "\x00\x01"} {
		_, want := untrusted.Profile([]byte(data), 1<<20)
		if _, err := untrusted.File([]byte(data), 1<<20); err == nil || err.Error() != want.Error() {
			t.Errorf("%q: got %v, want %v", data, err, want)
		}
	}
}

// Heap profiles as text open as with go tool pprof. Large ones do not.
func TestFileLegacyHeap(t *testing.T) {
	heap := text(t, "heap")
	want, err := profile.ParseData(heap)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := untrusted.File(heap, 1<<20); err != nil || got.String() != want.String() {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	cpu := binary.LittleEndian.AppendUint64(nil, 0)
	for _, word := range []uint64{3, 0, 10000, 0, 5, 1, 0x401000, 0, 1, 0} { // header, one sample of one frame, trailer
		cpu = binary.LittleEndian.AppendUint64(cpu, word)
	}
	if got, err := untrusted.File(cpu, 1<<20); err != nil || len(got.Sample) != 1 || got.Sample[0].Value[0] != 5 {
		t.Errorf("a CPU profile of gperftools: got %v, %v", got, err)
	}
	large := append(heap, bytes.Repeat([]byte("#\n"), 4<<20)...)
	if _, err := untrusted.File(large, 1<<30); err == nil || !strings.Contains(err.Error(), "without debug=") {
		t.Errorf("large: got %v", err)
	}
	if _, err := untrusted.File(zipped(t, heap), 10); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("more than allowed: got %v", err)
	}
}
