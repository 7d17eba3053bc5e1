// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
)

// fetch returns an answer of the server, as curl does.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, error %v: %s", address, resp.StatusCode, err, body)
	}
	return body
}

// answerOf decodes the JSON at an address.
func answerOf[T any](t *testing.T, address string) (data T) {
	t.Helper()
	if err := json.Unmarshal(fetch(t, address), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// textOf returns what a terminal shows of an address of the page: the same question as text, its
// lines of prose each in one.
func textOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	params := u.Query()
	params.Set("format", "text")
	u.RawQuery = params.Encode()
	return regexp.MustCompile(`\n {9}(\S)`).ReplaceAllString(string(fetch(t, u.String())), " $1")
}

// pprofCommand returns the program that go tool pprof runs. Go builds it when it is first asked
// for.
var pprofCommand = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "pprof").Output()
	return strings.TrimSpace(string(out)), err
})

// top is what go tool pprof says of a profile: its total, and what each function takes by itself
// and with those that it calls.
type top struct {
	total     time.Duration
	flat, cum map[string]time.Duration
}

// pprofTop returns the table that go tool pprof prints of one type of the samples at an address.
func pprofTop(t *testing.T, address, index string) top {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	if err := os.WriteFile(file, fetch(t, address), 0o600); err != nil {
		t.Fatal(err)
	}
	pprof, err := pprofCommand()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), pprof, "-sample_index="+index, "-unit=ms", "-nodefraction=0", "-top", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ms := func(text []byte) time.Duration {
		d, err := time.ParseDuration(string(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return d
	}
	total := regexp.MustCompile(`of ([0-9.]+ms) total`).FindSubmatch(out)
	if total == nil {
		t.Fatalf("go tool pprof tells no total:\n%s", out)
	}
	table := top{total: ms(total[1]), flat: map[string]time.Duration{}, cum: map[string]time.Duration{}}
	for _, row := range regexp.MustCompile(`(?m)^ *(0|[0-9.]+ms) +[0-9.]+% +[0-9.]+% +([0-9.]+ms) +[0-9.]+%  (\S+)`).FindAllSubmatch(out, -1) {
		table.flat[string(row[3])], table.cum[string(row[3])] = ms(row[1]), ms(row[2])
	}
	return table
}

// pprofTotal returns what go tool pprof says that a profile has of CPU time in all.
func pprofTotal(t *testing.T, address string) time.Duration {
	t.Helper()
	return pprofTop(t, address, "cpu").total
}

// onPage writes a time as the page does.
func onPage(d time.Duration) string { return termtext.Value(d.Nanoseconds(), termtext.Nanoseconds) }
