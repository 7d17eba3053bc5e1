// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// paperText returns the text of a PDF as it is drawn, a line each; pages are one after another.
func paperText(t *testing.T, file string) string {
	t.Helper()
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		if os.Getenv("SPANPROF_BROWSER") == "required" {
			t.Fatal("no pdftotext in PATH")
		}
		loudskip.Test(t, "no pdftotext in PATH: install the package poppler-utils to have printed pages read")
	}
	out, err := exec.CommandContext(t.Context(), pdftotext, "-raw", "-enc", "UTF-8", file, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// asInText writes figures of the page as the text form does.
var asInText = strings.NewReplacer("–", "-", "−", "-", " %", "%")

// bare is a text without what depends on where lines end.
func bare(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(asInText.Replace(text)), ""))
}

// shownTexts are the texts of a page, without those for screen readers alone.
const shownTexts = `(() => {
	const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
	const found = [];
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement;
		if (texts.currentNode.data.trim() && e.checkVisibility() && !e.closest('.sr')) found.push(texts.currentNode.data);
	}
	return found;
})()`

// checkPaper checks that a PDF has each text that the page shows, and the figures of each row
// of the text form beside each other, in the order of the rows.
func checkPaper(t *testing.T, file string, shown []string, rows [][]string) {
	t.Helper()
	text := paperText(t, file)
	all := bare(text)
	ago := regexp.MustCompile(`^(now|[0-9]+ (s|min|h) ago)$`) // It goes on while the page is printed.
	for _, part := range shown {
		if !ago.MatchString(part) && !strings.Contains(all, bare(part)) {
			t.Errorf("not on paper: %q", part)
		}
	}
	figure := regexp.MustCompile(`^(-|[+-]?[0-9.]+( [µnm]?s| pp)?)$`)
	rest := asInText.Replace(text)
	for _, row := range rows {
		var figures []string
		for _, cell := range row {
			if figure.MatchString(cell) {
				figures = append(figures, regexp.QuoteMeta(cell))
			} else if !strings.Contains(all, bare(cell)) {
				t.Errorf("of the row %q, %q is not on paper", row, cell)
			}
		}
		if len(figures) == 0 {
			continue
		}
		at := regexp.MustCompile(`(?m)(^| )` + strings.Join(figures, `( | .* )`) + `( |$)`).FindStringIndex(rest)
		if at == nil {
			t.Errorf("the figures of the row %q are not on paper", row)
			continue
		}
		rest = rest[at[1]-1:]
	}
	if t.Failed() {
		t.Logf("%s has:\n%s", file, text)
	}
}
