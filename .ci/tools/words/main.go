// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command words checks the English of comments, documents and UI texts.
//
//	words [file...]
//
// It runs in the repository's root. Without arguments it checks all files in git.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// rules have one capture group per pattern: the words to report.
var rules = []struct {
	pattern *regexp.Regexp
	mend    string
}{
	{regexp.MustCompile(`(?i)\b(says|said|tells|told|hears?|heard|knows|asks)\b`), "name the action: reports, returns, stores, polls"},
	{regexp.MustCompile(`(?i)(?:^|[^,\s]\s+)(say)\b`), "name the action: report, return, show"},
	{regexp.MustCompile(`(?i)\b(who|whose|whom|the\s+one\s+that)\b`), "repeat the noun"},
	{regexp.MustCompile(`(?i)\b((?:that|those|none)\s+of|of\s+which)\b`), "repeat the noun"},
	{regexp.MustCompile(`(?i)\b(nor|but\s+for)\b`), "put the exception last: and not, except, until"},
	{regexp.MustCompile(`(?i)\b((?:is|are)\s+to\s+be)\b`), "use must or the imperative"},
	{regexp.MustCompile(`(?i)\b(makes?\s+room)\b`), "name the entries: dropped, evicted"},
}

const maxWords = 20 // in a sentence

type finding struct {
	line                 int
	word, mend, sentence string
}

func main() {
	passed, err := run(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

// run prints the findings of files, and their sums by word.
func run(w io.Writer, paths []string) (passed bool, err error) {
	all := len(paths) == 0
	if all {
		out, err := exec.Command("git", "ls-files", "-z").Output()
		if err != nil {
			return false, fmt.Errorf("git ls-files: %w", err)
		}
		paths = strings.Split(strings.Trim(string(out), "\x00"), "\x00")
	}
	words, files, sum := map[string]int{}, 0, 0
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if all && errors.Is(err, fs.ErrNotExist) {
			continue // deleted in the work tree
		}
		if err != nil {
			return false, err
		}
		found, err := check(p, string(src))
		if err != nil {
			return false, err
		}
		if len(found) > 0 {
			files++
		}
		for _, f := range found {
			fmt.Fprintf(w, "%s:%d: %s: %s\n", p, f.line, f.word, f.sentence)
			words[f.word+" ("+f.mend+")"]++
			sum++
		}
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(w, "%6d %s\n", words[word], word)
	}
	fmt.Fprintf(w, "%d findings in %d files\n", sum, files)
	return sum == 0, nil
}

var (
	inlineCode  = regexp.MustCompile("`[^`]+`")
	address     = regexp.MustCompile(`\b[a-z]+://[^\s)>\]"']+`)
	linkTarget  = regexp.MustCompile(`\]\([^)\s]*\)`)
	sentenceEnd = regexp.MustCompile(`[.!?:;]["'”)\]*_]*(?:\s|$)|\x00|\n\s*\n`)
	letter      = regexp.MustCompile(`[\pL\d]`)
)

// check returns the findings of one file, in order.
func check(p, src string) ([]finding, error) {
	pieces, err := split(p, src)
	var findings []finding
	for _, piece := range pieces {
		text := inlineCode.ReplaceAllStringFunc(piece.text, func(code string) string {
			return "CODE" + strings.Repeat("\n", strings.Count(code, "\n"))
		})
		text = linkTarget.ReplaceAllString(address.ReplaceAllString(text, "URL"), "]")
		for line := piece.line; text != ""; {
			sentence := text
			if end := sentenceEnd.FindStringIndex(text); end != nil {
				sentence = text[:end[1]]
			}
			shown := oneLine(sentence)
			add := func(offset int, word, mend string) {
				findings = append(findings, finding{line + strings.Count(sentence[:offset], "\n"), word, mend, shown})
			}
			for _, r := range rules {
				for _, m := range r.pattern.FindAllStringSubmatchIndex(sentence, -1) {
					add(m[2], strings.ToLower(oneLine(sentence[m[2]:m[3]])), r.mend)
				}
			}
			if n := wordCount(sentence); piece.prose && n > maxWords {
				shown = fmt.Sprintf("%d words: %s", n, shown)
				add(letter.FindStringIndex(sentence)[0], "long sentence", fmt.Sprintf("at most %d words, one idea each", maxWords))
			}
			line += strings.Count(sentence, "\n")
			text = text[len(sentence):]
		}
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return a.line - b.line })
	return findings, err
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\x00", " ")), " ")
}

// wordCount counts an identifier as one word, and a dash or an operator as none.
func wordCount(s string) (n int) {
	for word := range strings.FieldsSeq(s) {
		if letter.MatchString(word) {
			n++
		}
	}
	return n
}
