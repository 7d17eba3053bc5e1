// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// planted are attributes with secrets, each with a number of its own.
var planted = [][2]string{
	{"db.query.text", "SELECT * FROM users WHERE password='S3CRET01' AND card=4111111111111111"},
	{"db.statement", "UPDATE u SET token='S3CRET02'"},
	{"url.query", "access_token=S3CRET03&api_key=S3CRET04&password=S3CRET05&code=S3CRET06&sig=S3CRET07&x-amz-signature=S3CRET08&X%2DAmz%2DSignature=S3CRET09&SIG=S3CRET10&client_secret=S3CRET11&id_token=S3CRET12"},
	{"url.full", "https://user:S3CRET13@h/p?refresh_token=S3CRET14&Signature=S3CRET15"},
	{"http.target", "/reset?token=S3CRET16"},
	{"http.request.header.authorization", "Bearer S3CRET18"},
	{"http.request.header.cookie", "sid=S3CRET19"},
	{"graphql.document", `mutation { login(password: "S3CRET20") }`},
	{"exception.message", "dial postgres://u:S3CRET21@db/x?sslmode=disable: password=S3CRET22 refused"},
	{"http.url", "//user:S3CRET24@host/p"},
}

// The page and the directory contain no secrets of spans. The innocent neighbours stay.
func TestSecretsAreHidden(t *testing.T) {
	dir := t.TempDir()
	s, err := store.New(store.WithDirectory(dir, 16<<20), store.WithSpanAttributes("http.request.header.authorization", "http.request.header.cookie"))
	if err != nil {
		t.Fatal(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	for _, p := range planted { // each alone, as a span's attributes are bounded
		ctx, root := tracer.Start(t.Context(), "root", trace.WithTimestamp(epoch), trace.WithAttributes(attribute.String(p[0], p[1]), attribute.String("http.route", "/tokens/list")))
		_, child := tracer.Start(ctx, "child", trace.WithTimestamp(epoch), trace.WithAttributes(attribute.String(p[0], p[1])))
		child.RecordError(errors.New("redis: AUTH S3CRET25 failed for redis://:S3CRET26@r:6379/0"))
		child.SetStatus(codes.Error, "Authorization: Bearer S3CRET27")
		child.End()
		root.RecordError(errors.New("redis: AUTH S3CRET25 failed for redis://:S3CRET26@r:6379/0"))
		root.SetStatus(codes.Error, "Authorization: Bearer S3CRET27")
		root.End(trace.WithTimestamp(epoch.Add(time.Second)))
	}
	h := viewer.Handler(s)
	texts := map[string]string{}
	for _, format := range []string{"json", "text"} {
		for _, path := range []string{"/", "/log"} {
			texts[path+format] = get(t, h, target(path, "format", format)).Body.String()
		}
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		texts[path] = contents(t, path)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var onDisk bool
	for name, text := range texts {
		if i := strings.Index(text, "S3CRET"); i >= 0 || strings.Contains(text, "4111111111111111") {
			t.Errorf("%s contains a secret: %.200q", name, text[max(0, i-100):])
		}
		onDisk = onDisk || strings.HasPrefix(name, dir) && strings.Contains(text, "/tokens/list")
	}
	if !onDisk || !strings.Contains(texts["/json"], "/tokens/list") || !strings.Contains(texts["/json"], "SELECT * FROM users WHERE password=? AND card=?") {
		t.Errorf("on disk: %v; page: %s", onDisk, texts["/json"])
	}
}

// contents returns the contents of a file, decompressed.
func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := [][]byte{b}
	for i := range b { // a file may have several members
		if !bytes.HasPrefix(b[i:], []byte("\x1f\x8b")) {
			continue
		}
		if z, err := gzip.NewReader(bytes.NewReader(b[i:])); err == nil {
			plain, _ := io.ReadAll(z)
			all = append(all, plain)
		}
	}
	return string(slices.Concat(all...))
}
