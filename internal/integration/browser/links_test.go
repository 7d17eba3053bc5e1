// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLinksOfJaeger opens the links that Jaeger's UI makes by ui.js from the attributes of a
// span: its profile, the comparison with its baseline, and the difference.
func TestLinksOfJaeger(t *testing.T) {
	script, err := os.ReadFile("../../../examples/jaeger/ui.js")
	if err != nil {
		t.Fatal(err)
	}
	var received bytes.Buffer
	var mu sync.Mutex
	jaeger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := received.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(jaeger.Close) // after the example has ended
	b := newBrowser(t)
	page := startExample(t, "jaeger", "-jaeger", jaeger.URL)
	attributes := map[string]string{}
	mu.Lock()
	for _, name := range []string{"url", "baseline.url", "diff.url"} {
		attributes["pyroscope.profile."+name] = attributeIn(received.Bytes(), "pyroscope.profile."+name)
	}
	mu.Unlock()
	span, err := json.Marshal(attributes)
	if err != nil {
		t.Fatal(err)
	}
	// As packages/jaeger-ui/src/model/link-patterns.tsx of Jaeger's UI has it.
	links := get(b, chromedp.Evaluate[[]string](fmt.Sprintf(`(() => { %s
		const span = %s;
		return UIConfig().linkPatterns.filter((p) => p.type === 'tags' && p.url.parameters.every((key) => span[key])).map((p) => p.url.template(span));
	})()`, script, span)))
	if len(links) != 3 {
		t.Fatalf("links %q of attributes %s", links, span)
	}
	for i, graphs := range []int{1, 2, 1} {
		b.run(links[i], chromedp.Navigate(links[i]), chromedp.WaitVisible(css(`.graph canvas`)))
		if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.graph canvas').length`)); n != graphs {
			t.Errorf("%s has %d graphs, want %d", links[i], n, graphs)
		}
	}
	b.check(page)
}

// attributeIn returns the first value of a text attribute in a message of OTLP, "" if there
// is none. A KeyValue has its key before its value.
func attributeIn(message []byte, key string) string {
	const stringField = 1<<3 | 2
	field := append([]byte{stringField, byte(len(key))}, key...)
	_, rest, _ := bytes.Cut(message, field)
	for range 2 { // the AnyValue, and the text in it
		if len(rest) == 0 {
			return ""
		}
		length, n := binary.Uvarint(rest[1:])
		if n <= 0 || uint64(len(rest)-1-n) < length {
			return ""
		}
		rest = rest[1+n:][:length]
	}
	return string(rest)
}
