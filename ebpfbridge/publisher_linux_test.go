// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof/ebpfbridge"
)

func service(name string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", name))
}

// publish publishes until the end of the test.
func publish(t *testing.T, res *resource.Resource) *ebpfbridge.Publisher {
	t.Helper()
	p, err := ebpfbridge.Publish(res)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// read returns this process's context, read from outside Go.
func read(t *testing.T) processContext {
	t.Helper()
	c, err := readContext(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPublishedContext(t *testing.T) {
	publish(t, resource.NewSchemaless(
		attribute.String("service.name", "shop"),
		attribute.String("not.utf8", "a\xffb"),
		attribute.Int("int", -7),
		attribute.Bool("bool", true),
		attribute.Float64("float", 1.5),
		attribute.StringSlice("strings", []string{"a", "b"}),
		attribute.Int64Slice("ints", []int64{1, 2}),
		attribute.KeyValue{Key: "map", Value: attribute.MapValue(attribute.Int("k", 1))},
		attribute.KeyValue{Key: "empty"},
	))
	c := read(t)
	want := map[string]string{
		"service.name": "shop", "not.utf8": "a\uFFFDb", "int": "-7", "bool": "true", "float": "1.5",
		"strings": "[a b]", "ints": "[1,2]",
		"map": `{"k":1}`, "empty": "(empty)",
	}
	if diff := cmp.Diff(want, c.resource); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"threadlocal.schema_version": "go_pprof_labels_v1"}, c.attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	if c.publishedAt > uint64(now.Nano()) {
		t.Errorf("published at %d, which is after %d", c.publishedAt, now.Nano())
	}
}

func TestTooLarge(t *testing.T) {
	p := publish(t, service("shop"))
	// Four lengths take two bytes more each when the text is long.
	most := ebpfbridge.MaxPayloadSize - (read(t).size - len("shop")) - 4*2
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ebpfbridge.Publish(service(strings.Repeat("x", most+1))); !errors.Is(err, ebpfbridge.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	publish(t, service(strings.Repeat("x", most)))
	if got := read(t); got.size != ebpfbridge.MaxPayloadSize || len(got.resource["service.name"]) != most {
		t.Errorf("the largest payload has %d bytes, want %d", got.size, ebpfbridge.MaxPayloadSize)
	}
}

func TestOneContext(t *testing.T) {
	p := publish(t, service("shop"))
	if _, err := ebpfbridge.Publish(service("other")); !errors.Is(err, ebpfbridge.ErrPublished) {
		t.Errorf("second Publish: got %v, want ErrPublished", err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := readContext(os.Getpid()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: got %v, want none", err)
	}
	publish(t, service("other"))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if got := read(t).resource["service.name"]; got != "other" {
		t.Errorf("service.name = %q, want that of the second one", got)
	}
}

func TestForeignContext(t *testing.T) {
	fd, err := unix.MemfdCreate("OTEL_CTX", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, 4096); err != nil {
		t.Fatal(err)
	}
	foreign, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(foreign); err != nil {
			t.Error(err)
		}
	}()
	copy(foreign, "theirs")
	_, err = ebpfbridge.Publish(service("shop"))
	if !errors.Is(err, ebpfbridge.ErrPublished) || !strings.Contains(err.Error(), "/memfd:OTEL_CTX") {
		t.Errorf("got %v, want ErrPublished with the mapping's name", err)
	}
	if string(foreign[:6]) != "theirs" || countMappings() != 1 {
		t.Errorf("the other context has %q, with %d mappings", foreign[:6], countMappings())
	}
}

// TestMapping checks the kernel's flags of the memory.
func TestMapping(t *testing.T) {
	publish(t, service("shop"))
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, entry, _ := strings.Cut(string(smaps), "OTEL_CTX")
	_, flags, _ := strings.Cut(entry, "VmFlags:")
	flags, _, _ = strings.Cut(flags, "\n")
	if !strings.Contains(flags, " dc") {
		t.Errorf("VmFlags:%s: a child process would inherit the context", flags)
	}
}
