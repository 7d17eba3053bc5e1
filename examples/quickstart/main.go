// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Quickstart is a code-search service that shows the profile of each request.
package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the service and of the page")
	duration := flag.Duration("duration", 0, "how long to run; 0 means until Ctrl-C")
	load := flag.Float64("load", 5, "requests a second that the service sends itself; 0 means none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	time.AfterFunc(cmp.Or(*duration, math.MaxInt64), stop)
	files := must(readFiles(filepath.Join(build.Default.GOROOT, "src")))
	listener := must(net.Listen("tcp", *listen))
	address := "http://" + strings.NewReplacer("[::]", "localhost", "0.0.0.0", "localhost").Replace(listener.Addr().String())
	// This, and to mount the handler below, is all that a service needs to do.
	res := resource.NewSchemaless(semconv.ServiceName("codesearch"))
	tp := spanprof.NewTracerProvider(
		sdktrace.NewTracerProvider(sdktrace.WithResource(res)), // add the exporter of your spans
		spanprof.WithPyroscopeURL(address+"/debug/spanprof"), spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true))
	profiling := must(inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res), profiler.WithWindow(2*time.Second))))
	mux := http.NewServeMux()
	mux.Handle("/debug/spanprof/", profiling.Handler())
	mux.Handle("/debug/pprof/", profhttp.Handler(profiling.Profiler())) // for spanprof record and other scrapers
	mux.Handle("/{$}", http.RedirectHandler("/debug/spanprof/", http.StatusFound))
	for path, handle := range map[string]http.HandlerFunc{"/search": files.search, "/archive": files.archive, "/slow": files.slow} {
		mux.Handle(path, otelhttp.NewHandler(spanprof.Handler(withQuery(handle)), "GET "+path, otelhttp.WithTracerProvider(tp)))
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	fmt.Printf("Open %s/debug/spanprof/\n", address)
	generateLoad(ctx, address, *load)
	ctx, stop = context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	_ = must(0, errors.Join(profiling.Shutdown(ctx), server.Shutdown(ctx), tp.Shutdown(ctx)))
	stats := profiling.Store().Stats()
	fmt.Printf("%d spans ended; spans carry %.1f %% of the process's CPU; profiles: %v\n",
		stats.SpansEnded, 100*float64(stats.CPUTimeLabelled)/float64(max(stats.CPUTime, 1)), profiling.Profiler().Status().Lanes[0])
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("quickstart: ", err)
	}
	return value
}

// withQuery adds the query of a request to its span: the page shows which request it was.
func withQuery(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			trace.SpanFromContext(r.Context()).SetAttributes(semconv.URLQuery(r.URL.RawQuery))
		}
		handle(w, r)
	}
}

var lock sync.Mutex // that slow requests wait for

type sources map[string][]byte // by file name

func readFiles(dir string) (sources, error) {
	files := sources{}
	return files, filepath.WalkDir(dir, func(name string, file fs.DirEntry, err error) error {
		if err == nil && file.Type().IsRegular() && strings.HasSuffix(name, ".go") {
			files[filepath.ToSlash(name)], err = os.ReadFile(name)
		}
		return err
	})
}

func (files sources) search(w http.ResponseWriter, r *http.Request) {
	expression, err := regexp.Compile(r.FormValue("q"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, text := range files {
		fmt.Fprintln(w, name, len(expression.FindAllIndex(text, -1)))
	}
}

func (files sources) archive(w http.ResponseWriter, r *http.Request) {
	zip := gzip.NewWriter(w)
	for name, text := range files {
		if strings.Contains(name, "/"+r.FormValue("pkg")+"/") {
			fmt.Fprintf(zip, "%s %x\n%s", name, sha256.Sum256(text), text)
		}
	}
	_ = zip.Close()
}

func (sources) slow(http.ResponseWriter, *http.Request) {
	lock.Lock()
	defer lock.Unlock()
	time.Sleep(300 * time.Millisecond)
}

// generateLoad sends n requests a second, at most 8 at a time; one in ten is an expensive one.
func generateLoad(ctx context.Context, address string, n float64) {
	cycle := append(slices.Repeat([]string{"/search?q=sync.Pool"}, 9), "/search?q=func.*(Reader|Writer).*error", "/archive?pkg=net/http", "/slow", "/slow")
	var requests sync.WaitGroup
	defer requests.Wait()
	room, tick := make(chan struct{}, 8), time.Tick(time.Duration(float64(time.Second)/max(n, 1e-9)))
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		room <- struct{}{}
		requests.Go(func() {
			defer func() { <-room }()
			if response, err := http.Get(address + cycle[i%len(cycle)]); err == nil {
				_ = response.Write(io.Discard)
			}
		})
	}
}
