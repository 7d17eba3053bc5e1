// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package source reads profiles from the sources of a command line.
//
// # Windows and runs
//
// A Profile is one window: what was sampled or counted in it, and the memory that
// was live at its end. The heap, mutex and block profiles of net/http/pprof count since
// the process began. Their window is the difference of two answers (Delta). For a process
// that is measured now they are answers to two requests. For files with such a Recording
// they are two files. A difference shows a restart, because no count becomes less.
//
// Profile.Replica is the run of a process: the directory of a Recording, of the
// first one where a run was recorded several times; the values of a Pyroscope
// label; and in other directories what Run reads out of a profile on Linux. It is
// empty where nothing distinguishes runs.
//
// # For developers
//
// source.go reads the grammar, files.go (with directory.go), pprof.go and pyroscope.go are
// the sources. client.go reads addresses and answers. target.go is a process with net/http/pprof, for
// package record too, and recording.go what that writes beside profiles.
package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exporter"
)

// Usage explains the grammar of a SOURCE.
const Usage = `A SOURCE is one of
  PATH                         a pprof file, a glob, or a directory and those
                               below it: of spanprof record, of exporter/file
  http://HOST/debug/pprof/     a process with net/http/pprof, measured now; or one
                               of its profiles: .../debug/pprof/profile?seconds=10
  pyroscope+http://HOST?query={service_name="shop"}&from=now-1h&until=now-30m
                               a Pyroscope server. The query is its label selector,
                               with a profile type before it or without. There is
                               one profile for each value of the first label of
                               service_instance_id, k8s_pod_name, pod, instance,
                               hostname, host_name that the profiles have.
                               view shows a whole server if there is no query
A profile with columns of several kinds, CPU and memory for example, is read as several.
https does in the place of http. An address has no credentials in it: they come
from SPANPROF_USER and SPANPROF_PASSWORD or from SPANPROF_TOKEN, and the tenant
of a Pyroscope from SPANPROF_TENANT. They go to every address of the command.
`

// Profile is a profile of a source.
type Profile struct {
	*exporter.Profile
	// Name is the origin of the profile, for messages: a file or an address,
	// without credentials.
	Name string
	// Replica names the run of a process that the profile was taken of. Profiles of
	// the same run have the same; it is empty where the source does not know.
	Replica string
}

// Source is where profiles come from.
type Source interface {
	// String returns the source as it was written, without credentials.
	String() string
	// Read calls each with one profile of the kinds after another, of all kinds without
	// any. Profiles of a run are in the order of their times, if the source has times. It
	// calls skip for a profile that cannot be read, with an error that names the profile.
	// An error of each ends it.
	Read(ctx context.Context, kinds []exporter.Kind, skip func(error), each func(*Profile) error) error
}

// wants reports whether a kind is one of kinds, or there are none.
func wants(kinds []exporter.Kind, kind exporter.Kind) bool {
	return len(kinds) == 0 || slices.Contains(kinds, kind)
}

// pass calls each with a profile, and skip with an error, as Read does. p may be nil.
func pass(ctx context.Context, skip func(error), each func(*Profile) error, p *Profile, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		skip(err)
	case p != nil:
		if err := each(p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// Parse reads a SOURCE of the command line.
func Parse(arg string) (Source, error) {
	scheme, _, found := strings.Cut(arg, "://")
	switch {
	case arg == "":
		return nil, errors.New("an empty SOURCE: give a file, a directory or an address")
	case !found:
		return local(arg), nil
	}
	u, err := parseAddress(arg)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "http", "https":
		return newPprofSource(u)
	case "pyroscope+http", "pyroscope+https":
		return newPyroscope(u)
	}
	return nil, fmt.Errorf("%s: there are no %s addresses: known are http, https, pyroscope+http and pyroscope+https", withoutUser(u), scheme)
}
