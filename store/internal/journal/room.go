// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/profiledir"
)

// The classes of files, in the order of removal: windows and spans; the samples that
// outlive them; the spans that do.
const (
	windows = iota
	keptSamples
	keptSpans
)

func classOf(name string) int {
	switch {
	case strings.HasSuffix(name, keptSuffix):
		return keptSpans
	case filepath.Base(filepath.Dir(name)) == keptDir && strings.HasSuffix(name, profiledir.Suffix):
		return keptSamples
	}
	return windows
}

// compare orders two files of a class by their removal: the file of the earlier run first.
func (j *Journal) compare(a, b profiledir.File) int {
	return cmp.Or(
		cmp.Compare(j.numbers[runOf(a.Name)], j.numbers[runOf(b.Name)]),
		a.Start.Compare(b.Start))
}

// runOf returns the directory of the run that a file is of.
func runOf(name string) string {
	run, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return run
}

// share is how many bytes spans that outlive others may take, and samples that do.
func (j *Journal) share() int64 { return j.MaxBytes / 4 }

// makeRoom removes the oldest files until n bytes of a class fit. Samples with a rank stay.
// If a file cannot be removed, the next ones are.
func (j *Journal) makeRoom(n int64, class int) error {
	if err := j.checkRoom(n, class); err != nil {
		return err
	}
	for stuck := 0; ; {
		if j.files.BytesOf(keptSamples) > j.share() {
			j.trimKept()
		}
		files := j.files.Files()
		if j.files.Bytes()+n <= j.MaxBytes || len(files) <= stuck || classOf(files[stuck].Name) != windows {
			return nil // Write returns an error if it has no room.
		}
		if !j.leave(files[stuck]) {
			stuck++
		}
	}
}

// checkRoom returns an error for a file that would not fit if all windows were removed. It
// comes before any of them is. It reserves the share of the samples that these windows leave.
// A window may take the place of kept spans of earlier runs beyond their share.
func (j *Journal) checkRoom(n int64, class int) error {
	if j.files.Bytes()+n <= j.MaxBytes {
		return nil
	}
	room := j.MaxBytes
	if class == windows {
		room -= j.share()
		if n <= room-min(j.share(), j.files.BytesOf(keptSpans)) {
			j.boundKeptSpans(max(j.share(), room-n))
		}
		room -= j.files.BytesOf(keptSpans)
	}
	if n > room {
		return &profiledir.TooLargeError{Bytes: n, MaxBytes: max(0, room)}
	}
	return nil
}

// boundKeptSpans removes kept spans of earlier runs, from the oldest run on. It stops when
// all kept spans take at most maxBytes.
func (j *Journal) boundKeptSpans(maxBytes int64) {
	for _, f := range slices.Clone(j.files.Files()) {
		if j.files.BytesOf(keptSpans) <= maxBytes {
			return
		}
		if classOf(f.Name) == keptSpans && runOf(f.Name) != j.run {
			j.remove(f)
		}
	}
}

// leave removes a file and keeps its samples with a rank. It returns false if the file stays.
func (j *Journal) leave(f profiledir.File) bool {
	parts, ok := profiledir.Parse(f.Name)
	if !ok || j.Rank == nil || j.files.IsStuck(f) { // its samples were kept before
		return j.remove(f)
	}
	p, err := j.readProfile(f)
	if err != nil {
		return j.remove(f) // restoring reported the error
	}
	data := j.cut(p, NoRank)
	if data == nil {
		return j.remove(f)
	}
	dir := filepath.Join(runOf(f.Name), keptDir)
	if err := os.MkdirAll(filepath.Join(j.dir, dir), 0o700); err != nil {
		return j.remove(f)
	}
	kept := filepath.Join(dir, filepath.Base(f.Name))
	if err := j.files.Replace(f, kept, parts.Start, data); err != nil {
		return j.remove(f)
	}
	return true
}

// remove removes a file. It returns false if the file stays: Stuck counts it then, and the
// next call of makeRoom tries again.
func (j *Journal) remove(f profiledir.File) bool { return j.files.Remove(f) == nil }

func (j *Journal) readProfile(f profiledir.File) (*profile.Profile, error) {
	data, err := j.load(f.Name)
	if err != nil {
		return nil, err
	}
	return j.parsed(data)
}

// cut returns a profile with those samples alone that have a lower rank, nil for none.
func (j *Journal) cut(p *profile.Profile, below int) []byte {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return j.Rank(s) >= below })
	if len(p.Sample) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := p.Compact().Write(&b); err != nil {
		return nil
	}
	return b.Bytes()
}

// trimKept removes kept samples until they take less than their share. Samples without a
// rank are first, then the greatest ranks, then the oldest. It reads each file once for its
// ranks, and again if a part of its samples stays.
func (j *Journal) trimKept() {
	share := j.share() / 8 * 7
	type kept struct {
		profiledir.File
		least, greatest int // ranks
	}
	var files []kept
	for _, f := range j.files.Files() {
		if classOf(f.Name) == keptSamples {
			files = append(files, kept{f, 0, -1}) // what cannot be read goes last
		}
	}
	levels := []int{NoRank, 8, 3, 1, 0}
	if j.Rank == nil {
		levels = []int{0}
	}
	for _, below := range levels {
		for i := range files {
			f := &files[i]
			if j.files.BytesOf(keptSamples) <= share {
				return
			}
			var p *profile.Profile
			if below == NoRank {
				if p, _ = j.readProfile(f.File); p != nil {
					f.least, f.greatest = j.ranks(p)
				}
			}
			if f.greatest < below && below > 0 {
				continue // all stay
			}
			var data []byte
			if f.least < below {
				if p == nil {
					p, _ = j.readProfile(f.File)
				}
				if p == nil {
					continue
				}
				data = j.cut(p, below)
			}
			f.greatest = below - 1
			// If this fails, the next call tries again.
			switch {
			case data == nil:
				j.remove(f.File)
			case int64(len(data)) < f.Size:
				if j.files.Replace(f.File, f.Name, f.Start, data) == nil {
					f.Size = int64(len(data))
				}
			}
		}
	}
}

// ranks returns the least and the greatest rank of samples.
func (j *Journal) ranks(p *profile.Profile) (least, greatest int) {
	least = NoRank
	for _, s := range p.Sample {
		rank := j.Rank(s)
		least, greatest = min(least, rank), max(greatest, rank)
	}
	return least, greatest
}
