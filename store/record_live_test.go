// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package store_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

var record = flag.Duration("record", 0, "record the profiles in testdata anew, in five windows of this length")

// recordedWindows is how many windows there are in testdata.
const recordedWindows = 5

// TestRecord records the CPU profiles in testdata/service: those of an HTTP
// service with 60 routes, in which every request is a span with two to four
// children. The command is
//
//	go test -tags live ./store -run TestRecord -record 10s
func TestRecord(t *testing.T) {
	if *record == 0 {
		t.Skip("records only if -record says how long")
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(),
		spanprof.WithSpanIDLabelScope(spanprof.ScopeAllSpans), spanprof.WithSpanNameLabelScope(spanprof.ScopeAllSpans))
	shop := newShop(tp.Tracer("shop"))
	server := httptest.NewServer(shop.mux)
	defer server.Close()
	var clients sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 8 {
		clients.Go(func() { shop.use(ctx, server, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	if err := os.MkdirAll(filepath.Join("testdata", "service"), 0o755); err != nil {
		t.Error(err)
	}
	for i := range recordedWindows {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Error(err)
			break
		}
		time.Sleep(*record)
		pprof.StopCPUProfile()
		if err := os.WriteFile(filepath.Join("testdata", "service", fmt.Sprintf("cpu%d.pprof.gz", i)), b.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}
	stop()
	clients.Wait()
}

// shop is the service.
type shop struct {
	mux    *http.ServeMux
	tracer trace.Tracer
	routes []string
	page   *template.Template
	digits *regexp.Regexp
	items  []item

	mu    sync.RWMutex
	carts map[string][]item
}

type item struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  []string          `json:"tags"`
	Extra map[string]string `json:"extra"`
}

func newShop(tracer trace.Tracer) *shop {
	s := &shop{
		mux:    http.NewServeMux(),
		tracer: tracer,
		page:   template.Must(template.New("page").Parse(`<ul>{{range .}}<li class="item">{{.Name}}: {{printf "%.2f" .Price}}{{range .Tags}} <i>{{.}}</i>{{end}}</li>{{end}}</ul>`)),
		digits: regexp.MustCompile(`(item|thing)[ -]([0-9]+)[a-z]*`),
		carts:  make(map[string][]item),
	}
	for i := range 400 {
		s.items = append(s.items, item{
			ID: i, Name: fmt.Sprintf("item %d with a name", i*7919%400), Price: float64(i) * 1.17,
			Tags: []string{strconv.Itoa(i % 13), "tag" + strconv.Itoa(i%29)}, Extra: map[string]string{"weight": strconv.Itoa(i), "origin": "x" + strconv.Itoa(i%5)},
		})
	}
	for _, area := range []string{"books", "music", "garden", "tools", "toys"} {
		for name, work := range map[string]func(context.Context, []item) []byte{
			"list": s.list, "page": s.html, "search": s.search, "sort": s.sort, "sign": s.sign, "zip": s.zip,
			"parse": s.parse, "cart": s.cart, "group": s.group, "text": s.text, "decode": s.decode, "all": s.all,
		} {
			route := "GET /" + area + "/" + name + "/{id}"
			s.routes = append(s.routes, "/"+area+"/"+name+"/")
			s.mux.HandleFunc(route, s.handler(route, work))
		}
	}
	slices.Sort(s.routes)
	return s
}

// handler wraps work in the span of the request.
func (s *shop) handler(route string, work func(context.Context, []item) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, span := s.tracer.Start(r.Context(), route)
		defer span.End()
		id, _ := strconv.Atoi(r.PathValue("id"))
		items := s.load(ctx, id)
		body := work(ctx, items)
		_, write := s.tracer.Start(ctx, "write")
		defer write.End()
		w.Header().Set("Etag", fmt.Sprintf("%x", sha256.Sum256(body)))
		_, _ = w.Write(body)
	}
}

func (s *shop) load(ctx context.Context, id int) []item {
	_, span := s.tracer.Start(ctx, "load")
	defer span.End()
	s.mu.RLock()
	defer s.mu.RUnlock()
	var items []item
	for _, it := range s.items {
		if (it.ID+id)%3 != 0 || strings.Contains(it.Name, strconv.Itoa(id)) {
			items = append(items, it)
		}
	}
	return items
}

func (s *shop) list(_ context.Context, items []item) []byte {
	b, _ := json.Marshal(items)
	return b
}

func (s *shop) html(ctx context.Context, items []item) []byte {
	_, span := s.tracer.Start(ctx, "render")
	defer span.End()
	var b bytes.Buffer
	_ = s.page.Execute(&b, items)
	return b.Bytes()
}

func (s *shop) search(_ context.Context, items []item) []byte {
	var b bytes.Buffer
	for _, it := range items {
		for _, m := range s.digits.FindStringSubmatch(it.Name) {
			b.WriteString(m)
		}
	}
	return b.Bytes()
}

func (s *shop) sort(_ context.Context, items []item) []byte {
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(strings.Compare(a.Tags[1], b.Tags[1]), cmp.Compare(b.Price, a.Price))
	})
	return []byte(items[0].Name)
}

func (s *shop) sign(ctx context.Context, items []item) []byte {
	_, span := s.tracer.Start(ctx, "hmac")
	defer span.End()
	mac := hmac.New(sha256.New, []byte("secret"))
	for _, it := range items {
		fmt.Fprintf(mac, "%d %s %v", it.ID, it.Name, it.Extra)
	}
	return []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func (s *shop) zip(ctx context.Context, items []item) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(s.list(ctx, items[:len(items)/4]))
	_ = w.Close()
	return b.Bytes()
}

func (s *shop) parse(_ context.Context, items []item) []byte {
	var b bytes.Buffer
	for _, it := range items {
		u, err := url.Parse("https://example.com/a/b?name=" + url.QueryEscape(it.Name) + "&tag=" + it.Tags[0])
		if err == nil {
			b.WriteString(u.Query().Get("name"))
		}
	}
	return b.Bytes()
}

func (s *shop) cart(_ context.Context, items []item) []byte {
	key := items[0].Name + items[len(items)-1].Name
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carts[key] = append(slices.Clone(s.carts[key][:min(20, len(s.carts[key]))]), items...)
	return []byte(key)
}

func (s *shop) group(ctx context.Context, items []item) []byte {
	groups := make(map[string][]item)
	for _, it := range items {
		for _, tag := range it.Tags {
			groups[tag] = append(groups[tag], it)
		}
	}
	_, span := s.tracer.Start(ctx, "encode")
	defer span.End()
	b, _ := json.Marshal(groups)
	return b
}

func (s *shop) text(_ context.Context, items []item) []byte {
	var words []string
	for _, it := range items {
		words = append(words, strings.Fields(strings.ToUpper(strings.ReplaceAll(it.Name, "item", "thing")))...)
	}
	slices.Sort(words)
	return []byte(strings.Join(slices.Compact(words), " "))
}

func (s *shop) decode(ctx context.Context, items []item) []byte {
	var decoded []item
	_ = json.Unmarshal(s.list(ctx, items[:len(items)/2]), &decoded)
	return []byte(strconv.Itoa(len(decoded)))
}

// all works on goroutines of its own.
func (s *shop) all(ctx context.Context, items []item) []byte {
	parts := make([][]byte, 2)
	var wg sync.WaitGroup
	wg.Go(func() { parts[0] = s.search(ctx, items) })
	wg.Go(func() { parts[1] = s.sign(ctx, items) })
	wg.Wait()
	return bytes.Join(parts, nil)
}

// use sends requests until the context ends.
func (s *shop) use(ctx context.Context, server *httptest.Server, random *rand.Rand) {
	for ctx.Err() == nil {
		route := s.routes[random.IntN(len(s.routes))]
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+route+strconv.Itoa(random.IntN(1000)), nil)
		if err != nil {
			return
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}
