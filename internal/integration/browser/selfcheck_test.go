// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// TestSelfCheck has a section that is closed until a check fails. It stays closed once the user has
// closed it.
func TestSelfCheck(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	var wrong atomic.Bool
	server := httptest.NewServer(viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
		status := viewer.Status{Running: true, SelfCheck: viewer.SelfCheck{Checks: 33}}
		if wrong.Load() {
			status.SelfCheck.Findings = []viewer.Finding{
				{ID: "provider-not-global", Severity: "wrong", Seen: "214 local root spans ended and none has labels.", Do: "Give the wrapper to otel.SetTracerProvider."},
				{ID: "span-names-too-many", Severity: "note", Seen: "<b>256</b> names.", Do: "Use fewer."},
			}
		}
		return status
	})))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	for _, page := range []string{"/", "/log"} {
		wrong.Store(false)
		b.run("all is well on "+page,
			chromedp.Navigate(server.URL+page),
			chromedp.WaitVisible(css(`.selfcheck summary`)),
			until(`document.querySelector('.selfcheck summary').textContent.includes('all 33 checks pass')`))
		if get(b, chromedp.Evaluate[bool](`document.querySelector('.selfcheck').open`)) {
			t.Errorf("%s: the section is open", page)
		}
		wrong.Store(true)
		b.run("a mistake",
			until(`document.querySelector('.selfcheck').open`),
			chromedp.WaitVisible(css(`.selfcheck li`)))
		if text := b.text(`.selfcheck`); !strings.Contains(text, "1 of 33 checks finds a mistake, 1 note") ||
			!strings.Contains(text, "Give the wrapper to otel.SetTracerProvider.") || !strings.Contains(text, "<b>256</b> names.") {
			t.Errorf("%s: the section is %q", page, text)
		}
		b.screenshots("selfcheck" + strings.ReplaceAll(page, "/", "-"))
		get(b, chromedp.Evaluate[bool](`(() => {
			const real = fetch;
			window.polls = 0;
			window.fetch = async (...args) => { const answer = await real(...args); polls++; return answer; };
			return true;
		})()`))
		b.run("closed by keyboard, it stays closed",
			chromedp.Focus(css(`.selfcheck summary`)),
			chromedp.KeyEvent(kb.Enter),
			until(`polls > 1 && !document.querySelector('.selfcheck').open`))
		if on := get(b, chromedp.Evaluate[string](`document.activeElement.tagName`)); on != "SUMMARY" {
			t.Errorf("%s: the focus went to %s", page, on)
		}
	}
	b.check(server.URL + "/")
}
