// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package source reads profiles from the sources of a command line.
//
// A Profile is one window: what was sampled or counted in it, and the memory that
// was live at its end. The heap, mutex and block profiles of net/http/pprof count since
// the process began. The window of such files with a Recording is the difference of two
// (difference). A difference shows a restart, because no count becomes less.
//
// Profile.Replica is the run of a process. On Linux Run reads it out of a profile. Else it is
// the directory of a Recording, or the value of a Pyroscope label. It is empty if nothing
// distinguishes runs.
//
// source.go reads the grammar, files.go (with directory.go) and pyroscope.go are the
// sources. target.go is a process with net/http/pprof, for package record, and
// recording.go what that writes beside profiles.
package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/secrets"
)

// Usage explains the grammar of a SOURCE.
const Usage = `A SOURCE is one of
  PATH                         a pprof file, a glob, or a directory and those
                               below it: of spanprof record, of exporter/file
  pyroscope+http://HOST?query={service_name="shop"}&from=now-1h&until=now-30m
                               the CPU profiles of a Pyroscope server by a label
                               selector, one for each replica
  pyroscope+http://HOST        for view: the whole server
A profile with columns of several kinds, CPU and memory for example, is read as several.
https does in the place of http. An address has no credentials in it: they come
from SPANPROF_USER and SPANPROF_PASSWORD or from SPANPROF_TOKEN, and the tenant
of a Pyroscope from SPANPROF_TENANT. They go to every address of the command.
`

// Profile is a profile of a source.
type Profile struct {
	*exporter.Profile
	// Name is the origin of the profile, for messages: a file or an address.
	Name string
	// Replica is the run of the process, empty if it is unknown.
	Replica string
}

// Source is where profiles come from.
type Source interface {
	// Read calls each with one profile of a kind after another, of all kinds for "". Profiles
	// of a run are in the order of their times, if the source has times. It calls skip for a
	// profile that cannot be read, with an error that names the profile. An error of each
	// ends it.
	Read(ctx context.Context, kind exporter.Kind, skip func(error), each func(*Profile) error) error
}

// Parse reads a SOURCE of the command line.
func Parse(arg string) (Source, error) {
	switch {
	case arg == "":
		return nil, errors.New("an empty SOURCE: give a file, a directory or an address")
	case !strings.Contains(arg, "://"):
		return local(arg), nil
	}
	u, err := ParseAddress(arg)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "pyroscope+http" || u.Scheme == "pyroscope+https" {
		return newPyroscope(u)
	}
	return nil, fmt.Errorf("%s: an address begins with pyroscope+http:// or pyroscope+https://; spanprof record writes the profiles of a process into files", withoutUser(u))
}

// ErrSeen is the error for a profile that an earlier SOURCE has too.
var ErrSeen = errors.New("another SOURCE has it too, and it counts once")

// ReadAll calls each with the profiles of SOURCEs, in their order, and with the SOURCE. skip gets the errors of
// SOURCEs, of profiles and of each, and ErrSeen. It returns an error of the form of a SOURCE, or of ctx.
func ReadAll(ctx context.Context, args []string, kind exporter.Kind, skip func(error), each func(arg string, p *Profile) error) error {
	sources := make([]Source, len(args))
	for i, arg := range args {
		var err error
		if sources[i], err = Parse(arg); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i, src := range sources {
		err := src.Read(ctx, kind, skip, func(p *Profile) error {
			err := ErrSeen
			if !again(seen, p) {
				err = each(args[i], p)
			}
			if err != nil && ctx.Err() == nil {
				skip(fmt.Errorf("%s: %w", p.Name, err))
			}
			return ctx.Err()
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			skip(err)
		}
	}
	return nil
}

// again reports whether seen has the file of a profile, by its path without links, and adds it.
func again(seen map[string]bool, p *Profile) bool {
	path, err := filepath.Abs(p.Name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false // no file
	}
	path = string(p.Kind()) + " " + path // a file may have several kinds
	before := seen[path]
	seen[path] = true
	return before
}

// ParseAddress reads the address of a SOURCE.
func ParseAddress(arg string) (*url.URL, error) {
	u, err := url.Parse(arg)
	switch {
	case err != nil && secrets.Text(arg) != arg:
		// The error would repeat a secret.
		return nil, errors.New("a SOURCE is no address that can be read")
	case err != nil:
		return nil, fmt.Errorf("%q: %w", arg, client.WithoutAddress(err))
	case u.User != nil:
		return nil, fmt.Errorf("%s: a SOURCE has no user and password: set SPANPROF_USER and SPANPROF_PASSWORD, or SPANPROF_TOKEN, in the environment", withoutUser(u))
	case u.Host == "":
		return nil, fmt.Errorf("%q: the address has no host", arg)
	}
	for name := range u.Query() {
		if secrets.Parameter(name) {
			return nil, fmt.Errorf("%s: a SOURCE has no credentials, as its parameter %q seems to be one: set SPANPROF_USER and SPANPROF_PASSWORD, or SPANPROF_TOKEN, in the environment", withoutUser(u), name)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func withoutUser(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
