// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge_test

import (
	"errors"
	"os"
	"strconv"
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
		attribute.BoolSlice("bools", []bool{true, false}),
		attribute.Float64Slice("floats", []float64{0.5}),
		attribute.KeyValue{Key: "map", Value: attribute.MapValue(attribute.Int("k", 1))},
		attribute.KeyValue{Key: "empty"},
	))
	c := read(t)
	want := map[string]string{
		"service.name": "shop", "not.utf8": "a\uFFFDb", "int": "-7", "bool": "true", "float": "1.5",
		"strings": "[a b]", "ints": "[1 2]", "bools": "[true false]", "floats": "[0.5]",
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

func TestDefaultResource(t *testing.T) {
	publish(t, nil)
	if got := read(t).resource["telemetry.sdk.language"]; got != "go" {
		t.Errorf("telemetry.sdk.language = %q, want that of resource.Default()", got)
	}
}

func TestUpdate(t *testing.T) {
	p := publish(t, service("shop"))
	last := read(t)
	for _, name := range []string{"x", strings.Repeat("long", 10_000), "shop", "shop"} {
		if err := p.Update(service(name)); err != nil {
			t.Fatal(err)
		}
		c := read(t)
		if c.resource["service.name"] != name {
			t.Errorf("service.name has %d bytes, want %d", len(c.resource["service.name"]), len(name))
		}
		if c.publishedAt <= last.publishedAt {
			t.Errorf("published at %d, not after %d", c.publishedAt, last.publishedAt)
		}
		last = c
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := ebpfbridge.Publish(service(strings.Repeat("x", ebpfbridge.MaxPayloadSize))); !errors.Is(err, ebpfbridge.ErrTooLarge) {
		t.Errorf("Publish: got %v, want ErrTooLarge", err)
	}
	p := publish(t, service("shop"))
	overhead := read(t).size - len("shop")
	// Four lengths take two bytes more each when the text is long.
	if err := p.Update(service(strings.Repeat("x", ebpfbridge.MaxPayloadSize-overhead-4*2))); err != nil {
		t.Errorf("Update with the largest payload: %v", err)
	}
	if got := read(t).size; got != ebpfbridge.MaxPayloadSize {
		t.Errorf("the largest payload has %d bytes, want %d", got, ebpfbridge.MaxPayloadSize)
	}
	if err := p.Update(service("shop")); err != nil {
		t.Fatal(err)
	}
	if err := p.Update(service(strings.Repeat("x", ebpfbridge.MaxPayloadSize-overhead-4*2+1))); !errors.Is(err, ebpfbridge.ErrTooLarge) {
		t.Errorf("Update: got %v, want ErrTooLarge", err)
	}
	if got := read(t).resource["service.name"]; got != "shop" {
		t.Errorf("service.name = %q, want the one before", got)
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
	if err := p.Update(service("shop")); !errors.Is(err, ebpfbridge.ErrClosed) {
		t.Errorf("Update after Close: got %v, want ErrClosed", err)
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

func TestNothingLeaks(t *testing.T) {
	mapped, open := countMappings(), countFiles()
	for range 100 {
		p, err := ebpfbridge.Publish(service("shop"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Update(service(strings.Repeat("x", 60_000))); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if countMappings() != mapped || countFiles() != open {
		t.Errorf("%d mappings and %d files, want %d and %d", countMappings(), countFiles(), mapped, open)
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

// version returns a resource by which a reader can check that it has all of one version: its
// length and each of its bytes follow from its number.
func version(i int) *resource.Resource {
	text := strings.Repeat(string(rune('a'+i%26)), 1+i*977%40_000)
	return resource.NewSchemaless(attribute.Int("version", i), attribute.String("text", text))
}

// TestUpdateIsNeverTorn reads the context while it is updated.
func TestUpdateIsNeverTorn(t *testing.T) {
	p := publish(t, version(0))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := p.Update(version(i)); err != nil {
				done <- err
				return
			}
		}
	}()
	last := -1
	var lastPublished uint64
	for versions := 0; versions < 300; {
		got, err := readContext(os.Getpid())
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(got.resource["version"])
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := version(number).Set().Value("text"); want.AsString() != got.resource["text"] {
			t.Fatalf("version %d: torn", number)
		}
		if number < last || (number > last) != (got.publishedAt > lastPublished) {
			t.Fatalf("version %d published at %d, after version %d at %d", number, got.publishedAt, last, lastPublished)
		}
		last, lastPublished = number, got.publishedAt
		versions++
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
