// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

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

func TestPublishedContext(t *testing.T) {
	publish(t, resource.NewSchemaless(
		attribute.String("service.name", "shop"),
		attribute.String("not.utf8", "a\xffb"),
		attribute.Int("int", -7),
		attribute.Bool("bool", true),
		attribute.Float64("float", 1.5),
		attribute.StringSlice("strings", []string{"a", "b"}),
		attribute.KeyValue{Key: "map", Value: attribute.MapValue(attribute.Int("k", 1))},
		attribute.KeyValue{Key: "empty"},
	))
	c := read(t)
	want := map[string]string{
		"service.name": "shop", "not.utf8": "a\uFFFDb", "int": "int -7", "bool": "bool true", "float": "1.5",
		"strings": `["a","b"]`, "map": `{"k":1}`, "empty": "(empty)",
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
	const allowed = 65536 // bytes, by OTEP 4719
	most := allowed - (read(t).size - len("shop")) - 4*2
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ebpfbridge.Publish(service(strings.Repeat("x", most+1))); err == nil || !strings.Contains(err.Error(), "65537 bytes") {
		t.Errorf("got %v, want one byte too many", err)
	}
	publish(t, service(strings.Repeat("x", most)))
	if got := read(t); got.size != allowed || len(got.resource["service.name"]) != most {
		t.Errorf("the largest payload has %d bytes, want %d", got.size, allowed)
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
	if _, found := mapped(t); found {
		t.Error("after Close a context is left")
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
	if string(foreign[:6]) != "theirs" {
		t.Errorf("the other context has %q", foreign[:6])
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

// processContext is what a process has published.
type processContext struct {
	publishedAt uint64
	size        int
	resource    map[string]string
	attributes  map[string]string
}

// read reads this process's context as an agent does, from outside of Go.
func read(t *testing.T) (c processContext) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at, found := mapped(t)
	if !found {
		t.Fatal("nothing is published")
	}
	mem, err := os.Open("/proc/self/mem")
	must(err)
	defer func() { _ = mem.Close() }()
	header := make([]byte, 32)
	_, err = mem.ReadAt(header, at)
	must(err)
	c.publishedAt, c.size = binary.NativeEndian.Uint64(header[16:]), int(binary.NativeEndian.Uint32(header[12:]))
	if string(header[:8]) != "OTEL_CTX" || binary.NativeEndian.Uint32(header[8:]) != 2 || c.size > 65536 || c.publishedAt == 0 {
		t.Fatalf("header %q", header)
	}
	payload := make([]byte, c.size)
	_, err = mem.ReadAt(payload, int64(binary.NativeEndian.Uint64(header[24:])))
	must(err)
	c.resource, c.attributes = map[string]string{}, map[string]string{}
	for len(payload) > 0 { // the message ProcessContext
		field, _, n := protowire.ConsumeField(payload)
		must(protowire.ParseError(min(n, 0)))
		_, _, tag := protowire.ConsumeTag(payload)
		value, _ := protowire.ConsumeBytes(payload[tag:])
		payload = payload[n:]
		switch field {
		case 1:
			var r resourcepb.Resource
			must(proto.Unmarshal(value, &r))
			for _, kv := range r.GetAttributes() {
				c.resource[kv.GetKey()] = text(kv.GetValue())
			}
		case 2:
			var kv commonpb.KeyValue
			must(proto.Unmarshal(value, &kv))
			c.attributes[kv.GetKey()] = text(kv.GetValue())
		default:
			t.Fatalf("field %d", field)
		}
	}
	return c
}

// mapped returns the address of this process's context.
func mapped(t *testing.T) (at int64, found bool) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(maps), "OTEL_CTX")
	if !found {
		return 0, false
	}
	address, _, _ := strings.Cut(before[strings.LastIndexByte(before, '\n')+1:], "-")
	at, err = strconv.ParseInt(address, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return at, true
}

// text returns a value in a form for comparisons.
func text(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint("bool ", v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint("int ", v.IntValue)
	}
	return "(empty)"
}
