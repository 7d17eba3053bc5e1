// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/internal/queriertest"
)

// To record the answers of a server with one span, run this. The span has a profile by two
// replicas of a service and one of another:
//
//	go test ./internal/pyroscopeview -run Recorded -record http://localhost:4040 -storage v2 -about '{"Span":...}'
//
// -about is a queriertest.Recording without its exchanges. The same for -storage dual.
var (
	record  = flag.String("record", "", "ask the server at this `address`, and record its answers")
	storage = flag.String("storage", "v2", "the `storage` of the server to record")
	about   = flag.String("about", "", "what is known of the server to record, as `JSON`")
)

var recorder queriertest.Recorder

func TestMain(m *testing.M) {
	flag.Parse()
	recorder.Server = *record
	code := m.Run()
	if *record != "" && code == 0 {
		if err := save(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func save() error {
	r, err := recording(*storage)
	if err != nil {
		return err
	}
	r.Exchanges = recorder.Exchanges()
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A line each.
	data = bytes.ReplaceAll(data, []byte(`{"Question"`), []byte("\n"+`{"Question"`))
	return os.WriteFile("../../../../internal/queriertest/testdata/"+*storage+".json", append(data, '\n'), 0o644)
}

func recording(storage string) (*queriertest.Recording, error) {
	if *record == "" {
		return queriertest.Load(storage)
	}
	r := &queriertest.Recording{}
	return r, json.Unmarshal([]byte(*about), r)
}

// recorded returns the page over a server with the recorded answers of a storage.
func recorded(t *testing.T, of string) (http.Handler, *queriertest.Recording) {
	t.Helper()
	if *record != "" && of != *storage {
		t.Skip("another storage is being recorded")
	}
	r, err := recording(of)
	if err != nil {
		t.Fatal(err)
	}
	if *record != "" {
		return over(t, &recorder, 64<<20), r
	}
	return over(t, r, 64<<20), r
}

// over returns the page over a server.
func over(t *testing.T, server http.Handler, maxBytes int64) http.Handler {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	return Handler(newClient(t, s.URL, maxBytes))
}

func newClient(t *testing.T, address string, maxBytes int64) *querier.Client {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := querier.New(u, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// get requests a path of the page with the parameters key, value, ...
func get(t *testing.T, h http.Handler, path string, params ...string) *httptest.ResponseRecorder {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path+"?"+values.Encode(), nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func getJSON(t *testing.T, h http.Handler, to any, path string, params ...string) {
	t.Helper()
	w := get(t, h, path, append(params, "format", "json")...)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s %q: status %d: %s", path, params, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		t.Fatalf("GET %s %q: %v", path, params, err)
	}
}

// times returns the parameters of a recording's time.
func times(r *queriertest.Recording) []string {
	return []string{"from", r.From.Format(time.RFC3339Nano), "until", r.Until.Format(time.RFC3339Nano)}
}
