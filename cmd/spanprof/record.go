// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/record"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/untrusted"
)

var recordCommand = command{
	name:     "record",
	synopsis: "-o DIR [-for 30m] [-every 1m] [-label KEY=VALUE]... URL...",
	summary:  "keeps the profiles of running services in files",
	example: `$ spanprof record -o recordings -for 30m http://shop-1:6060 http://shop-2:6060
http://shop-1:6060/debug/pprof/: 154 profiles, 3.91 MiB, 1 run of the process, in recordings/shop-1_6060
http://shop-2:6060/debug/pprof/: 154 profiles, 3.82 MiB, 1 run of the process, in recordings/shop-2_6060`,
	run: runRecord,
}

func runRecord(ctx context.Context, c *call) error {
	config := record.Config{Resource: map[string]string{}}
	c.StringVar(&config.Dir, "o", "", "the `directory` for the profiles; each address has one of its own below")
	c.DurationVar(&config.For, "for", 30*time.Minute, "how long to record; a signal ends it before")
	c.DurationVar(&config.Every, "every", time.Minute, "how long a window is")
	c.Func("label", "an attribute of the processes, as `KEY=VALUE`: service.name, service.version, or one of your own; repeatable", func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" || value == "" {
			return errors.New("it has the form KEY=VALUE")
		}
		config.Resource[key] = value
		return nil
	})
	c.Int64Var(&config.MaxBytes, "max-bytes", 1<<30, "how many bytes the profiles of each address may take; beyond it the oldest are removed")
	if err := c.parse(); err != nil {
		return err
	}
	switch {
	case config.Dir == "":
		return errors.New("record: -o DIR is missing: the profiles go there")
	case min(config.For, config.Every) < time.Second:
		return errors.New("record: -for and -every are at least a second")
	case config.MaxBytes < 1:
		return errors.New("record: -max-bytes leaves no room for a profile")
	case c.NArg() == 0:
		return errors.New("record: name one address or more, such as http://localhost:6060/debug/pprof/")
	case c.NArg() > 1 && config.Resource["service.instance.id"] != "":
		return errors.New("record: -label service.instance.id names one process, and there are several")
	}
	for _, arg := range c.Args() {
		t, err := source.NewTarget(arg)
		if err != nil {
			return fmt.Errorf("record: %w", err)
		}
		config.Targets = append(config.Targets, t)
	}

	if err := atomicfile.Prepare(config.Dir); err != nil { // at once, not with the first profile
		return fmt.Errorf("record: -o %s: %w", config.Dir, err)
	}
	var mu sync.Mutex
	config.Report = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintln(c.stderr, "spanprof:", text)
	}
	untrusted.LimitMemory(int64(448+16*len(config.Targets)) << 20)
	var without []string
	for _, r := range record.Run(ctx, config) {
		_, _ = fmt.Fprintln(c.stdout, r)
		if r.Profiles == 0 {
			without = append(without, r.Target)
		}
	}
	if len(without) > 0 {
		return fmt.Errorf("record: no profile of %s", strings.Join(without, ", "))
	}
	return nil
}
