// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package servertext_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/servertext"
)

func TestRedactor(t *testing.T) {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth("12345", `pa<ss"wörd`)
	r.Header.Set("X-Api-Key", "k3y")
	r.Header.Set("X-Custom", "unnamed-credential")
	r.Header.Set("X-Short", "1")
	r.Header.Set("X-Scope-OrgID", "tenant-of-team-a")
	r.Header.Set("Content-Type", "multipart/form-data")
	r.Header["authorization"] = []string{"Bearer t0ken of gRPC"}
	u, err := url.Parse("http://user:in-the-url@host/?token=of-the-query&name=shop")
	if err != nil {
		t.Fatal(err)
	}
	redactor := servertext.NewRedactor(r.Header, u)
	for text, want := range map[string]string{
		"no org id for tenant-of-team-a, multipart/form-data, 1, shop": "no org id for tenant-of-team-a, multipart/form-data, 1, shop",
		"Authorization: " + r.Header.Get("Authorization"):              "Authorization: [redacted]",
		strings.Fields(r.Header.Get("Authorization"))[1]:               "[redacted]",
		`user 12345, password pa<ss"wörd`:                              "user 12345, password [redacted]",
		`user 12345, password pa<ss"w`:                                 "user 12345, password [redacted]",
		`{"password":"pa\u003css\"wörd"}`:                              `{"password":"[redacted]"}`,
		"<b>pa&lt;ss&#34;wörd</b>":                                     "<b>[redacted]</b>",
		"/?password=pa%3Css%22w%C3%B6rd":                               "/?password=[redacted]",
		"key k3y, unnamed-credential":                                  "key [redacted], [redacted]",
		"in-the-url, of-the-query":                                     "[redacted], [redacted]",
		"bad token t0ken of gRPC":                                      "bad token [redacted]",
	} {
		if got := redactor.Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("x", 1<<10-3) + "unnamed-credential"
	if got := redactor.Clean(long); strings.Contains(got, "unn") {
		t.Errorf("Clean(%q) = %q, want nothing of the credential", long, got)
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"zu groß":                        "zu groß",
		" two\r\nlines\t ":               "two lines",
		"\x1b[31mred\x00":                "[31mred",
		"not UTF-8: \xff":                "not UTF-8:",
		"\u202eturned":                   "turned",
		strings.Repeat("x", 1<<20):       strings.Repeat("x", 1<<10),
		"x" + strings.Repeat("ß", 1<<10): "x" + strings.Repeat("ß", 511),
	} {
		if got := servertext.Clean(text); got != want {
			t.Errorf("Clean(%.40q) = %.40q, want %.40q", text, got, want)
		}
	}
}
