// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	marks    = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors returns the fragments of a document's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{"": true}
	for _, h := range headings.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

// Each link of a document to a file, and to a heading in it, leads somewhere.
func TestDocuments(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, link := range links.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			checked++
			file, fragment, _ := strings.Cut(link[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			content, err := os.ReadFile(target)
			if info, stat := os.Stat(target); stat == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %s: %v", path, link[1], err)
			} else if fragment != "" && !anchors(string(content))[fragment] {
				t.Errorf("%s: %s: no heading has this fragment", path, link[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if checked < 40 {
		t.Errorf("only %d links were found", checked)
	}
}
