// Program app burns CPU time in ways that the tests look for in its profile.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"runtime/pprof"
	"time"

	"example.com/app/mix"
)

func main() {
	out := flag.String("o", "cpu.pprof", "file of the CPU profile")
	duration := flag.Duration("for", time.Second, "how long to work")
	flag.Parse()
	f, err := os.Create(*out)
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		log.Fatal(err)
	}
	var sink uint64
	for end := time.Now().Add(*duration); time.Now().Before(end); {
		pprof.Do(context.Background(), pprof.Labels("span_name", "GET /mix", "span_id", "0123456789abcdef"), func(context.Context) {
			sink += mix.Work(sink)
		})
		pprof.Do(context.Background(), pprof.Labels("span_name", "GET /version"), func(context.Context) {
			sink += version(sink)
		})
	}
	pprof.StopCPUProfile()
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	log.Print(sink)
}

type number interface{ ~uint64 | ~float64 }

//go:noinline
func sum[T number](xs []T) T {
	var s T
	for range 10000 {
		for _, x := range xs {
			s = s*3 + x
		}
	}
	return s
}

//go:noinline
func each(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}
