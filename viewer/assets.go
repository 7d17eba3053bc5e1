// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed static
var static embed.FS

// asset is a file of the page.
type asset struct {
	name string
	body []byte
	etag string
}

// assets are the files beside the page, by name.
var assets = loadAssets()

func loadAssets() map[string]asset {
	all := map[string]asset{}
	// An embedded directory is always there.
	entries, _ := static.ReadDir("static")
	for _, entry := range entries {
		if entry.Name() == "index.html" {
			continue
		}
		body, _ := static.ReadFile(path.Join("static", entry.Name()))
		sum := sha256.Sum256(body)
		all[entry.Name()] = asset{name: entry.Name(), body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return all
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	// The names carry no version: ask each time, and get a 304.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	// Types must not depend on the machine's own table of types.
	switch path.Ext(a.name) {
	case ".js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	case ".css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.body))
}

// pageResponse returns the page. It is the same for every address: its script
// reads the address and fetches the data as JSON.
func pageResponse() response {
	body, _ := static.ReadFile("static/index.html")
	return response{contentType: "text/html; charset=utf-8", body: body}
}
