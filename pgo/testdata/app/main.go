// Program app writes a CPU profile of package mix.
package main

import (
	"flag"
	"log"
	"os"
	"runtime/pprof"
	"time"

	"example.com/app/mix"
)

func main() {
	duration := flag.Duration("for", time.Second, "how long to work")
	flag.Parse()
	f, err := os.Create("cpu.pprof")
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		log.Fatal(err)
	}
	var sink uint64
	for end := time.Now().Add(*duration); time.Now().Before(end); {
		sink += mix.Work(sink)
	}
	pprof.StopCPUProfile()
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	log.Print(sink)
}
