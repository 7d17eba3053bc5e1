// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Manual profiles requests by ids of its own, without OpenTelemetry, and serves
// their profiles until Ctrl-C.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime/pprof"

	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *listen)
	check(err)
	profiling, err := inprocess.Start(nil)
	check(err)
	go func() { log.Fatal(http.Serve(listener, profiling.Handler())) }()

	for order := range 3 {
		id := fmt.Sprintf("order-%d", 4711+order)
		pprof.Do(ctx, pprof.Labels("profile_id", id, "span_name", "ship order"), slowRequest)
	}

	check(profiling.Flush(context.Background()))
	address := "http://" + listener.Addr().String()
	fmt.Println("Open", address+"/")
	fmt.Println("Or one order:", address+"/?query="+url.QueryEscape(`.cpu{profile_id="order-4712"}`))
	<-ctx.Done()
	check(profiling.Shutdown(context.Background()))
}

func slowRequest(context.Context) {
	data := make([]byte, 1<<20)
	for range 400 {
		data[0] = sha256.Sum256(data)[0]
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("manual: ", err)
	}
}
