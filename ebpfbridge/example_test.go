// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge_test

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/ebpfbridge"
)

func ExamplePublish() {
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	context, err := ebpfbridge.Publish(res)
	if err != nil && !errors.Is(err, ebpfbridge.ErrUnsupported) { // on other systems than Linux
		fmt.Println(err)
		return
	}
	if err == nil {
		defer func() { _ = context.Close() }()
	}
	fmt.Println("agents can read the service's name")
	// Output: agents can read the service's name
}
