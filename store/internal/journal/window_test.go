// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/journal"
)

// A window has its own start and duration after a restart, whatever its profile says, and any
// tool reads the file.
func TestTimesOfWindows(t *testing.T) {
	parsed, err := window(start, 7).Parsed()
	if err != nil {
		t.Fatal(err)
	}
	p := parsed.Copy()
	p.TimeNanos, p.DurationNanos = 0, 0
	var zipped, plain bytes.Buffer
	if err := p.Write(&zipped); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteUncompressed(&plain); err != nil {
		t.Fatal(err)
	}
	for name, duration := range map[string]time.Duration{"window": 10 * time.Second, "snapshot": 0, "long": 300 * time.Hour} {
		w := exporter.Window{Kind: exporter.KindHeap, Start: start, Duration: duration}
		measured := parsed.Copy()
		measured.TimeNanos, measured.DurationNanos = 5, 6
		for form, of := range map[string]*exporter.Profile{
			"parsed":   exporter.NewParsedProfile(w, p),
			"measured": exporter.NewParsedProfile(w, measured),
			"zipped":   exporter.NewProfile(w, zipped.Bytes()),
			"plain":    exporter.NewProfile(w, plain.Bytes()),
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				dir := t.TempDir()
				first := open(t, dir, maxBytes)
				if _, err := first.Profile(of); err != nil {
					t.Fatal(err)
				}
				closed(t, first)
				data, err := os.ReadFile(glob(t, dir, "*.pprof.gz")[0])
				if err != nil {
					t.Fatal(err)
				}
				got, err := profile.ParseData(data)
				if err != nil {
					t.Fatal(err)
				}
				if got.DurationNanos != int64(duration) || len(got.Sample) != 1 || got.Sample[0].Value[0] != 7 {
					t.Errorf("the file has %v", got)
				}
				second := open(t, dir, maxBytes)
				restored, err := second.ReadProfile(second.Files()[0])
				if err != nil || !restored.Start().Equal(start) || restored.Duration() != duration {
					t.Errorf("restored is a window from %v of %v, want %v of %v: %v", restored.Start(), restored.Duration(), start, duration, err)
				}
			})
		}
	}
}

// A profile that cannot be written fails with its own error.
func TestProfileThatIsNone(t *testing.T) {
	w := exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: time.Second}
	j := open(t, t.TempDir(), maxBytes)
	for want, p := range map[string]*exporter.Profile{
		"the cpu profile is nil":   exporter.NewParsedProfile(w, nil),
		"is cut off after 2 bytes": exporter.NewProfile(w, []byte{0x1f, 0x8b}),
	} {
		failed := j.Stats().Failed
		if name, err := j.Profile(p); err == nil || !strings.Contains(err.Error(), want) || j.Stats().Failed != failed+1 {
			t.Errorf("%q, %v, want %q, %+v", name, err, want, j.Stats())
		}
	}
}

// A profile of several gzip members is written if there is room for all of them.
func TestProfileOfSeveralMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	parsed, err := large(start, 20, 1<<19).Parsed() // 10 MiB
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := parsed.Write(&b); err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte{10 << 3, 1}); err != nil { // its duration
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: time.Second}, b.Bytes())
	for maxUnzipped, fits := range map[int64]bool{8 << 20: false, 32 << 20: true} {
		j := openWith(t, t.TempDir(), journal.Config{MaxBytes: 64 << 20, MaxUnzipped: maxUnzipped})
		_, err := j.Profile(p)
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "raise WithMaxBytes") {
			t.Errorf("room for %d bytes: %v", maxUnzipped, err)
		}
	}
}
