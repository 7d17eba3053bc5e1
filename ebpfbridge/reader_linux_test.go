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

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// processContext is what a process has published.
type processContext struct {
	publishedAt uint64
	size        int
	resource    map[string]string
	attributes  map[string]string
}

// readContext reads the context of a process as an agent does.
func readContext(pid int) (processContext, error) {
	address, err := find(pid)
	if err != nil {
		return processContext{}, err
	}
	header := make([]byte, 32)
	if err := readMemory(pid, address, header); err != nil {
		return processContext{}, err
	}
	publishedAt := binary.NativeEndian.Uint64(header[16:])
	if publishedAt == 0 {
		return processContext{}, errors.New("withdrawn")
	}
	c := processContext{publishedAt: publishedAt, size: int(binary.NativeEndian.Uint32(header[12:]))}
	payload := make([]byte, min(c.size, 1<<20))
	errPayload := readMemory(pid, binary.NativeEndian.Uint64(header[24:]), payload)
	if string(header[:8]) != "OTEL_CTX" || binary.NativeEndian.Uint32(header[8:]) != 2 || c.size > 65536 {
		return processContext{}, fmt.Errorf("header %q", header)
	}
	if errPayload != nil {
		return processContext{}, errPayload
	}
	c.resource, c.attributes, err = decode(payload)
	return c, err
}

// find looks for the context in the process's memory.
func find(pid int) (uint64, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.Contains(fields[5], "OTEL_CTX") {
			continue
		}
		from, _, _ := strings.Cut(fields[0], "-")
		return strconv.ParseUint(from, 16, 64)
	}
	return 0, os.ErrNotExist
}

func readMemory(pid int, address uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(len(b))
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
	if err == nil && n != len(b) {
		err = fmt.Errorf("%d bytes of %d", n, len(b))
	}
	return err
}

// decode reads the message ProcessContext.
func decode(payload []byte) (res, attributes map[string]string, err error) {
	res, attributes = map[string]string{}, map[string]string{}
	for len(payload) > 0 {
		field, _, n := protowire.ConsumeTag(payload)
		if n < 0 {
			return nil, nil, protowire.ParseError(n)
		}
		value, m := protowire.ConsumeBytes(payload[n:])
		if m < 0 {
			return nil, nil, protowire.ParseError(m)
		}
		payload = payload[n+m:]
		switch field {
		case 1:
			var r resourcepb.Resource
			if err := proto.Unmarshal(value, &r); err != nil {
				return nil, nil, err
			}
			for _, kv := range r.GetAttributes() {
				res[kv.GetKey()] = text(kv.GetValue())
			}
		case 2:
			var kv commonpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return nil, nil, err
			}
			attributes[kv.GetKey()] = text(kv.GetValue())
		default:
			return nil, nil, fmt.Errorf("field %d", field)
		}
	}
	return res, attributes, nil
}

// text returns a value in a form for comparisons.
func text(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *commonpb.AnyValue_ArrayValue:
		var elems []string
		for _, e := range v.ArrayValue.GetValues() {
			elems = append(elems, text(e))
		}
		return "[" + strings.Join(elems, " ") + "]"
	}
	return "(empty)"
}

func countMappings() int {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	return strings.Count(string(maps), "OTEL_CTX")
}
