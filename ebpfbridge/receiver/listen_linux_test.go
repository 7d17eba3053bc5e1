// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
)

// privateDirectory returns a directory that passes Listen's check.
func privateDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveUnix serves a receiver on a socket of Listen until the end of the test.
func serveUnix(t *testing.T, r *Receiver, change func(*Listener)) string {
	t.Helper()
	path := filepath.Join(privateDirectory(t), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	change(l)
	t.Cleanup(func() {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v after the end, want no socket", err)
		}
	})
	serving(t, func(ctx context.Context) error { return r.ServeGRPC(ctx, l) })
	return path
}

// The socket of root is for root alone.
func TestListenMode(t *testing.T) {
	path, want := filepath.Join(privateDirectory(t), "s"), os.FileMode(0o600)
	if os.Geteuid() != 0 { // root may send too
		want = 0o666
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("mode %v, %v, want %v", info.Mode(), err, want)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Twins on one connection are no witness for another. Unix sockets have no addresses.
func TestTwinsOfAnotherConnection(t *testing.T) {
	r, _ := newReceiver(t)
	target := "unix://" + serveUnix(t, r, func(*Listener) {})
	twins, later := newMessage(), newMessage()
	twins.process(100, twins.record(1, []uint64{3}, "span_id", checkoutID), twins.record(1, []uint64{5}, "span_id", searchID))
	later.process(100, later.record(1, []uint64{7, 8}, "span_id", checkoutID))
	first := dial(t, target)
	for _, send := range []func() error{
		func() error { return export(t, first, twins.ExportProfilesServiceRequest) },
		func() error { return export(t, first, later.ExportProfilesServiceRequest) },
		func() error { return export(t, dial(t, target), later.ExportProfilesServiceRequest) },
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.Status(); s.Witnessed != 4 || s.First != 1 || s.Ambiguous != 1 {
		t.Errorf("got %+v, want 4 witnessed, 1 first and 1 ambiguous", s)
	}
}

// A refused user gets no byte, and is counted and reported.
func TestListenRefuses(t *testing.T) {
	reported := reports(t)
	r, _ := newReceiver(t)
	path := serveUnix(t, r, func(l *Listener) { l.users = []uint32{uint32(os.Geteuid()) + 1} })
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
		t.Errorf("got %q and %v, want the end", b, err)
	}
	if s := r.Status(); s.RefusedAgents != 1 {
		t.Errorf("got %+v, want 1 refused", s)
	}
	if err := <-reported; !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the path in it", err)
	}
}

func TestListenDirectory(t *testing.T) {
	private, open := privateDirectory(t), privateDirectory(t)
	for _, d := range []struct {
		path string
		mode os.FileMode
	}{
		{private + "/group", 0o770},
		{private + "/others", 0o707},
		{private + "/sticky", 0o777 | os.ModeSticky},
		{private + "/sticky/below", 0o755},
		{open + "/below", 0o755},
		{open, 0o777},
		{private + "/fine", 0o755},
	} {
		if err := errors.Join(os.MkdirAll(d.path, 0o700), os.Chmod(d.path, d.mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(private+"/fine", private+"/link"), os.Symlink(private+"/fine", open+"/link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		private + "/group":        "mode drwxrwx---",
		private + "/others":       "mode drwx---rwx",
		private + "/sticky":       "without write permission for group and others",
		open + "/below":           "directory " + open + " has",
		open + "/link":            "directory " + open + " has",
		private + "/none":         "no such file",
		private + "/sticky/below": "", private + "/link": "", private + "/fine": "",
	} {
		l, err := Listen(dir + "/s")
		if err == nil {
			err = l.Close()
		}
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir)) {
			t.Errorf("%s: got %v, want %q", dir, err, want)
		}
	}
	// Another user's directory: as root by chown, else by another own user.
	if os.Geteuid() == 0 {
		if err := os.Chown(private+"/fine", 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := handout.CheckDirectory(private+"/fine", uint32(os.Geteuid())+2); err == nil || !strings.Contains(err.Error(), "owner") {
		t.Errorf("got %v, want an error for another owner", err)
	}
}
