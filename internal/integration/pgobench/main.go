// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command pgobench tells what a Collector gains by a default.pgo of its own workload. From
// the top of the repository:
//
//	go run ./internal/integration/pgobench -dir DIRECTORY
//
// It builds the two layers of internal/integration/collectorpgo, which are configured as in
// examples/collector-pgo, sends a fixed number of spans through both, records them by
// spanprof record, makes a default.pgo for each by spanprof pgo, and builds each layer with its
// own and with the other's. Then the builds take turns, and a table has their CPU seconds for a
// million spans. spanprof diff and spanprof pgo -check have the last word. It takes about ten
// minutes on two cores, half of it in the compiler.
//
// With -layers gateway, one Collector does the same alone; -rounds 0 ends when it has its
// default.pgo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "new or empty `directory` for programs, recordings and profiles")
	names := flag.String("layers", "edge,gateway", "layers to measure, in the order in which spans pass them")
	flag.DurationVar(&b.record, "record", 40*time.Second, "how long to record for default.pgo")
	flag.StringVar(&b.profiles, "profiles", "", "`directory` with the edge.pgo and gateway.pgo of an earlier run, to measure its builds again: record nothing")
	flag.IntVar(&b.rounds, "rounds", 5, "how often each build is measured; 0 ends before")
	flag.IntVar(&b.spans, "spans", 300_000, "spans of a measurement")
	flag.IntVar(&b.rate, "rate", 40_000, "spans a second")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := b.choose(strings.Split(*names, ","))
	if err == nil {
		err = b.run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgobench:", err)
		os.Exit(1)
	}
}

// bench is a run of the command.
type bench struct {
	dir         string
	profiles    string
	record      time.Duration
	rounds      int
	spans, rate int
	sent        int // spans of a measurement, in whole rounds of the load
	layers      []*layer
}

// choose takes the flags' values.
func (b *bench) choose(names []string) error {
	if b.dir == "" || b.record < time.Second || b.rounds < 0 || b.rounds > maxRounds || b.spans <= 0 || b.rate <= 0 {
		return fmt.Errorf("give -dir, at least a second for -record, at most %d rounds, and numbers above zero", maxRounds)
	}
	if left, err := os.ReadDir(b.dir); err == nil && len(left) > 0 {
		return fmt.Errorf("%s is not empty: recordings of another run would mix with those of this one", b.dir)
	}
	for _, name := range names {
		if name != "edge" && name != "gateway" {
			return fmt.Errorf("-layers: there is no layer %q, but edge and gateway", name)
		}
		b.layers = append(b.layers, &layer{name: name})
	}
	if len(b.layers) > 2 || len(b.layers) == 2 && (names[0] != "edge" || names[1] != "gateway") {
		return errors.New("-layers: spans go from the edge to the gateway: want edge,gateway or one of them")
	}
	return choosePorts(b.layers)
}

// A build is how the programs of all layers were built.
const (
	plain = "plain" // without a profile
	own   = "own"   // with the layer's own
	other = "other" // with the other layer's
)

func (b *bench) run(ctx context.Context) error {
	if err := b.buildTools(ctx); err != nil {
		return err
	}
	if err := b.compile(ctx, ""); err != nil {
		return err
	}
	profiles := b.makeProfiles
	if b.profiles != "" {
		profiles = b.takeProfiles
	}
	if err := profiles(ctx); err != nil || b.rounds == 0 {
		return err
	}
	builds := []string{plain, own}
	for i, l := range b.layers {
		if err := b.compile(ctx, l.profile(b)); err != nil {
			return err
		}
		l.programs = map[string]string{plain: b.program("", l.name), own: b.program(l.profile(b), l.name)}
		if len(b.layers) == 2 {
			l.programs[other] = b.program(b.layers[1-i].profile(b), l.name)
		}
	}
	if len(b.layers) == 2 {
		builds = append(builds, other)
	}
	for _, l := range b.layers {
		if err := b.shell(ctx, "go", "version", "-m", l.programs[own]); err != nil {
			return err
		}
	}
	for round := range b.rounds {
		turn := round % len(builds)
		for _, build := range slices.Concat(builds[turn:], builds[:turn]) {
			if err := b.measure(ctx, build, round+1); err != nil {
				return fmt.Errorf("round %d, build %s: %w", round+1, build, err)
			}
		}
	}
	if err := b.show(os.Stdout, builds); err != nil {
		return err
	}
	return b.compare(ctx)
}

// makeProfiles records the layers at work and makes their default.pgo.
func (b *bench) makeProfiles(ctx context.Context) error {
	for _, l := range b.layers {
		l.programs = map[string]string{plain: b.program("", l.name)}
	}
	spans := int((b.record + 5*time.Second).Seconds() * float64(b.rate))
	if _, err := b.work(ctx, plain, spans, b.recorder("before", b.record, "-every", "20s")); err != nil {
		return err
	}
	for _, l := range b.layers {
		if err := b.spanprof(ctx, "pgo", "-o", l.profile(b), l.recording(b, "before")); err != nil {
			return err
		}
	}
	return nil
}

// takeProfiles uses those of an earlier run, from which the compiler has its results still.
func (b *bench) takeProfiles(ctx context.Context) error {
	for _, l := range b.layers {
		if err := b.shell(ctx, "cp", filepath.Join(b.profiles, l.name+".pgo"), l.profile(b)); err != nil {
			return err
		}
	}
	return nil
}

// measure has the programs of a build do their work once.
func (b *bench) measure(ctx context.Context, build string, round int) error {
	dir := filepath.Join(build, "round-"+strconv.Itoa(round))
	whole := headStart + 2*time.Duration(b.spans/b.rate)*time.Second + 6*time.Second // with what waits for its decision
	w, err := b.work(ctx, build, b.spans, b.recorder(dir, whole, "-every", whole.String(), "-kinds", "cpu"))
	if err != nil {
		return err
	}
	if !w.covered { // its CPU seconds are as good as others
		fmt.Printf("left out of the diff: the work went on after its recording, because the machine does not manage %d spans a second\n", b.rate)
		if err := os.RemoveAll(filepath.Join(b.dir, dir)); err != nil {
			return err
		}
	}
	b.sent = w.sent
	for i, l := range b.layers {
		if l.cpu == nil {
			l.cpu = map[string][]float64{}
		}
		l.cpu[build] = append(l.cpu[build], w.cpu[i])
		fmt.Printf("%-8s %-6s %6.2f CPU seconds for a million spans\n", l.name, build, w.cpu[i])
	}
	return nil
}

// compare has spanprof compare the builds and the layers.
func (b *bench) compare(ctx context.Context) error {
	for _, l := range b.layers {
		if err := b.spanprof(ctx, "diff", "-requests", fmt.Sprintf("%d:%d", b.sent, b.sent), l.recording(b, plain+"/*"), l.recording(b, own+"/*")); err != nil {
			return err
		}
	}
	for _, l := range b.layers {
		for _, of := range b.layers {
			if err := b.spanprof(ctx, "pgo", "-check", l.programs[plain], "-profile", of.profile(b), l.recording(b, plain+"/*")); err != nil {
				return err
			}
		}
	}
	return nil
}

// profile returns the file of the layer's default.pgo.
func (l *layer) profile(b *bench) string { return filepath.Join(b.dir, l.name+".pgo") }

// recording returns the directory in which spanprof record has put the layer, or those if
// name is a pattern.
func (l *layer) recording(b *bench, name string) string {
	return filepath.Join(b.dir, name, strings.ReplaceAll(l.pprof, ":", "_"))
}
