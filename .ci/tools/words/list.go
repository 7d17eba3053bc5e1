// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const firstComment = "# Files with findings of .ci/tools/words. Mend a file, then remove its line.\n"

func parseList(text string) (listed []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") || listed != nil {
			listed = append(listed, strings.TrimSuffix(line, "\n"))
		}
	}
	return listed
}

// newList returns the remaining lines of an existing list. It adds none to that.
func newList(old string, found map[string][]finding) string {
	if old == "" {
		old = firstComment + strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"
	}
	var text strings.Builder
	for line := range strings.Lines(old) {
		if strings.HasPrefix(line, "#") || len(found[strings.TrimSuffix(line, "\n")]) > 0 {
			text.WriteString(line)
		}
	}
	return text.String()
}

// listErrors skips findings of files that were not checked.
func listErrors(listed []string, found map[string][]finding, all bool) (wrong []string) {
	for i, p := range listed {
		if i > 0 && listed[i-1] >= p {
			wrong = append(wrong, p+": sort the list")
		}
		findings, checked := found[p]
		if _, err := os.Stat(p); err != nil {
			wrong = append(wrong, p+": no such file: remove it from the list")
		} else if len(findings) == 0 && (all || checked) {
			wrong = append(wrong, p+": no findings: remove it from the list")
		}
	}
	return wrong
}

// history returns the commits of the list and its uncommitted changes, oldest first.
// Each begins with a NUL. A merge is compared with its first parent.
func history(exceptions string) (string, error) {
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || strings.TrimSpace(shallow) == "true" {
		return "", cmp.Or(err, errors.New("fetch the whole history: this clone is shallow"))
	}
	log, err := git("log", "--reverse", "--first-parent", "--diff-merges=first-parent", "--format=%x00%h", "--patch", "--unified=0", "--no-ext-diff", "--", exceptions)
	if err != nil || log == "" {
		return "", err
	}
	changes, err := git("diff", "HEAD", "--unified=0", "--no-ext-diff", "--", exceptions)
	return log + "\x00the work tree\n" + changes, err
}

// added returns the listed paths that were added after the first commit.
func added(log string, listed []string) (lines []string) {
	commits := strings.Split(log, "\x00")
	for _, commit := range commits[min(2, len(commits)):] {
		name, patch, _ := strings.Cut(commit, "\n")
		for line := range strings.SplitSeq(patch, "\n") {
			p, isAdded := strings.CutPrefix(line, "+")
			if isAdded && slices.Contains(listed, p) {
				lines = append(lines, fmt.Sprintf("%s adds %s", name, p))
			}
		}
	}
	return lines
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
