// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package static has the page's files: HTML, CSS and JavaScript. They know the JSON of
// package answer, and load nothing from outside.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed *.html *.css *.js
var files embed.FS

// Page returns the HTML of the page. It is the same for every address: its script reads
// the address and fetches the data as JSON.
func Page() []byte {
	body, _ := files.ReadFile("index.html") // An embedded file is always there.
	return body
}

// Assets serve the files that the page loads, by name.
var Assets = loadAssets()

func loadAssets() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{}
	entries, _ := files.ReadDir(".")
	for _, entry := range entries {
		if name := entry.Name(); name != "index.html" {
			body, _ := files.ReadFile(name)
			all[name] = serve(name, body)
		}
	}
	return all
}

func serve(name string, body []byte) http.HandlerFunc {
	sum := sha256.Sum256(body)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		// The names carry no version: a browser revalidates each time, and gets a 304.
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", etag)
		// Types must not depend on the machine's own table of types.
		switch path.Ext(name) {
		case ".js":
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		case ".css":
			w.Header().Set("Content-Type", "text/css; charset=utf-8")
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	}
}
