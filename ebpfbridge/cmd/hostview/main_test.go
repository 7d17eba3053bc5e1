// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func TestParse(t *testing.T) {
	c, err := parse([]string{"-socket", "/run/s"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := config{listen: "/run/spanprof-agent/otlp.sock", page: "127.0.0.1:6061", socket: "/run/s"}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	for args, want := range map[string]string{
		"-nosuch":                               "-nosuch",
		"extra":                                 "no flag",
		"-listen 127.0.0.1:11000":               "absolute path of a socket",
		"-socket /run/spanprof-agent/host.sock": "two directories",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
	if _, err := parse([]string{"-help"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("%v, want help", err)
	}
}
