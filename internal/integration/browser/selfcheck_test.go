// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/spanprof/spanprof/viewer"
)

// TestSelfCheck has a section that is closed until a check fails. It stays closed once the user has
// closed it.
func TestSelfCheck(t *testing.T) {
	var wrong atomic.Bool
	address := serve(t, newStore(t), viewer.WithStatus(func() viewer.Status {
		status := viewer.Status{Running: true, SelfCheck: viewer.SelfCheck{Checks: 33}}
		if wrong.Load() {
			status.SelfCheck.Findings = []viewer.Finding{
				{ID: "provider-not-global", Severity: "wrong", Seen: "214 local root spans ended and none has labels.", Do: "Give the wrapper to otel.SetTracerProvider."},
				{ID: "span-names-too-many", Severity: "note", Seen: "<b>256</b> names.", Do: "Use fewer."},
			}
		}
		return status
	}))
	b := newBrowser(t)
	for _, page := range []string{"", "log"} {
		wrong.Store(false)
		b.run("all is well on "+page, navigate(address+page), until(`document.querySelector('.selfcheck summary')?.textContent.includes('all 33 checks pass')`))
		shows(b, "an open section", `document.querySelector('.selfcheck').open`, false)
		wrong.Store(true)
		b.run("a mistake", until(`document.querySelector('.selfcheck').open`), visible(`.selfcheck li`))
		if text := b.text(`.selfcheck`); !strings.Contains(text, "1 of 33 checks finds a mistake, 1 note") || !strings.Contains(text, "<b>256</b> names.") {
			t.Errorf("%s: the section is %q", page, text)
		}
		b.screenshots("selfcheck-" + page)
		b.run("closed by keyboard, it stays closed",
			chromedp.Focus(css(`.selfcheck summary`)),
			chromedp.KeyEvent(kb.Enter),
			until(`(window.from ??= polls, polls > from + 1 && !document.querySelector('.selfcheck').open)`))
		shows(b, "the focus", `document.activeElement.tagName`, "SUMMARY")
	}
	b.check(address)
}
