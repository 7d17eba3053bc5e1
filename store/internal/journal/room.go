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

// compare says which of two files makes room first: what is kept comes last, then the
// earlier run goes first.
func (j *Journal) compare(a, b profiledir.File) int {
	class := func(f profiledir.File) int {
		if isKept(f.Name) {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(class(a), class(b)),
		cmp.Compare(j.numbers[runOf(a.Name)], j.numbers[runOf(b.Name)]),
		a.Start.Compare(b.Start))
}

// runOf returns the directory of the run that a file is of.
func runOf(name string) string {
	run, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return run
}

// isKept reports whether a file has what outlives others.
func isKept(name string) bool {
	return strings.HasSuffix(name, keptSuffix) || filepath.Base(filepath.Dir(name)) == keptDir
}

// makeRoom removes the oldest files until n bytes fit. Of windows, the samples stay that
// have a rank.
func (j *Journal) makeRoom(n int64) error {
	for j.files.Bytes()+n > j.maxBytes {
		files := j.files.Files()
		if len(files) == 0 || isKept(files[0].Name) {
			return nil // Write says what it cannot do.
		}
		f := files[0]
		if err := j.leave(f); err != nil {
			return err
		}
		if j.keptBytes() > j.maxBytes/4 {
			j.trimKept()
		}
	}
	return nil
}

// leave removes a file, but for the samples with a rank.
func (j *Journal) leave(f profiledir.File) error {
	parts, ok := profiledir.Parse(f.Name)
	if !ok || j.rank == nil {
		return j.files.Remove(f)
	}
	data := j.cut(f, NoRank)
	if data == nil {
		return j.files.Remove(f)
	}
	dir := filepath.Join(runOf(f.Name), keptDir)
	if err := os.MkdirAll(filepath.Join(j.dir, dir), 0o700); err != nil {
		return j.files.Remove(f)
	}
	if err := j.files.Replace(f, filepath.Join(dir, filepath.Base(f.Name)), parts.Start, data); err != nil {
		return j.files.Remove(f)
	}
	return nil
}

// cut returns a file with those samples alone that have a lower rank, nil for none. A file
// that cannot be read has none: reading it says why.
func (j *Journal) cut(f profiledir.File, below int) []byte {
	data, err := os.ReadFile(filepath.Join(j.dir, f.Name))
	if err != nil {
		return nil
	}
	p, err := parsed(data)
	if err != nil {
		return nil
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return j.rank(s) >= below })
	if len(p.Sample) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := p.Compact().Write(&b); err != nil {
		return nil
	}
	return b.Bytes()
}

// keptBytes is the size of the samples that are kept.
func (j *Journal) keptBytes() (n int64) {
	for _, f := range j.files.Files() {
		if isKept(f.Name) && !strings.HasSuffix(f.Name, keptSuffix) {
			n += f.Size
		}
	}
	return n
}

// trimKept lets kept samples go until they take some less than their share: first those
// that have no rank any more, then those of the greatest ranks, then the oldest.
func (j *Journal) trimKept() {
	share := j.maxBytes / 4
	share -= share / 8
	for _, below := range []int{NoRank, 8, 3, 1, 0} {
		for _, f := range slices.Clone(j.files.Files()) {
			if j.keptBytes() <= share {
				return
			}
			if !isKept(f.Name) || strings.HasSuffix(f.Name, keptSuffix) {
				continue
			}
			var data []byte
			if below > 0 {
				data = j.cut(f, below)
			}
			// What cannot be removed is tried again by the next one that makes room.
			switch {
			case data == nil:
				_ = j.files.Remove(f)
			case int64(len(data)) < f.Size:
				_ = j.files.Replace(f, f.Name, f.Start, data)
			}
		}
	}
}
